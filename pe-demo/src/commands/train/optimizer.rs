//! AdamW with warm-up, clipping, and a state that can be saved.
//!
//! Candle's own keeps its moments to itself: a run could not be resumed with the same bits.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use candle_core::backprop::GradStore;
use candle_core::{Device, Tensor, Var};

/// The settings of the optimizer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AdamWConfig {
    /// The largest learning rate, at the end of the warm-up.
    pub(super) learning_rate: f64,
    /// Steps during which the learning rate grows. Then it falls with the root of the step.
    pub(super) warm_up: u64,
    /// The gradients of all weights together are shortened to this length.
    pub(super) clip: f64,
    /// Pulls matrices toward zero. Vectors (biases, norms) are left alone.
    pub(super) weight_decay: f64,
}

const BETAS: [f64; 2] = [0.9, 0.98];
const EPSILON: f64 = 1e-9;

/// Adam with decoupled weight decay (I. Loshchilov and F. Hutter, "Decoupled Weight Decay
/// Regularization", 2019), with the betas, the epsilon and the course of the learning rate of Vaswani
/// et al., 2017, section 5.3: linear warm-up, then the inverse square root of the step. This
/// course does not depend on when the run ends, so a run can be made longer.
#[derive(Debug)]
pub(super) struct AdamW {
    config: AdamWConfig,
    step: u64,
    /// 1 - beta^step of both moments.
    corrections: [f64; 2],
    weights: Vec<Weight>,
}

#[derive(Debug)]
struct Weight {
    name: String,
    var: Var,
    /// Running means of the gradient and of its square.
    moments: [Vec<f32>; 2],
}

impl AdamW {
    pub(super) fn new(config: AdamWConfig, vars: &BTreeMap<String, Var>) -> Self {
        let weights = vars
            .iter()
            .map(|(name, var)| Weight {
                name: name.clone(),
                var: var.clone(),
                moments: [(); 2].map(|()| vec![0.0; var.elem_count()]),
            })
            .collect();
        Self {
            config,
            step: 0,
            corrections: [0.0; 2],
            weights,
        }
    }

    /// Returns the learning rate of a step, counted from 1.
    pub(super) fn learning_rate(config: &AdamWConfig, step: u64) -> f64 {
        let (step, warm_up) = (step.max(1) as f64, config.warm_up.max(1) as f64);
        config.learning_rate * (step / warm_up).min((warm_up / step).sqrt())
    }

    /// Changes the weights by their gradients, and returns the length of these before clipping.
    pub(super) fn step(&mut self, gradients: &GradStore) -> Result<f64> {
        let mut found = Vec::with_capacity(self.weights.len());
        let mut sum = 0.0;
        for Weight { name, var, .. } in &self.weights {
            let gradient = gradients
                .get(var)
                .with_context(|| format!("{name} has no gradient"))?
                .flatten_all()?
                .to_vec1::<f32>()?;
            sum += gradient
                .iter()
                .map(|g| f64::from(*g) * f64::from(*g))
                .sum::<f64>();
            found.push(gradient);
        }
        let norm = sum.sqrt();
        ensure!(norm.is_finite(), "the gradients are not finite");
        self.step += 1;
        self.corrections = advance(self.corrections);
        let shrink = (self.config.clip / norm).min(1.0);
        let rate = Self::learning_rate(&self.config, self.step);
        for (weight, gradient) in self.weights.iter_mut().zip(found) {
            let decay = match weight.var.rank() {
                0 | 1 => 0.0,
                _ => rate * self.config.weight_decay,
            };
            weight.update(&gradient, shrink, rate, decay, self.corrections)?;
        }
        Ok(norm)
    }

    /// Returns the moments, as tensors for a file.
    pub(super) fn state(&self) -> Result<Vec<(String, Tensor)>> {
        let mut state = Vec::new();
        for Weight { name, var, moments } in &self.weights {
            for (prefix, moment) in PREFIXES.iter().zip(moments) {
                let tensor = Tensor::from_slice(moment, var.shape(), &Device::Cpu)?;
                state.push((format!("{prefix}{name}"), tensor));
            }
        }
        Ok(state)
    }

    /// Takes up the moments of a file, and the step that they belong to.
    pub(super) fn restore(
        &mut self,
        step: u64,
        take: &mut dyn FnMut(&str, &[usize]) -> Result<Tensor>,
    ) -> Result<()> {
        for Weight { name, var, moments } in &mut self.weights {
            for (prefix, moment) in PREFIXES.iter().zip(moments) {
                let tensor = take(&format!("{prefix}{name}"), var.dims())?;
                *moment = tensor.flatten_all()?.to_vec1()?;
            }
        }
        self.step = step;
        // By the same multiplications as in the steps themselves.
        self.corrections = (0..step).fold([0.0; 2], |corrections, _| advance(corrections));
        Ok(())
    }
}

/// Before the names of the moments in files.
const PREFIXES: [&str; 2] = ["adam.mean.", "adam.square."];

/// Computes 1 - beta^(n + 1) from 1 - beta^n.
fn advance(corrections: [f64; 2]) -> [f64; 2] {
    let [mean, square] = corrections;
    [
        1.0 - BETAS[0] * (1.0 - mean),
        1.0 - BETAS[1] * (1.0 - square),
    ]
}

impl Weight {
    fn update(
        &mut self,
        gradient: &[f32],
        shrink: f64,
        rate: f64,
        decay: f64,
        corrections: [f64; 2],
    ) -> Result<()> {
        let mut values = self.var.flatten_all()?.to_vec1::<f32>()?;
        let [means, squares] = &mut self.moments;
        let [b1, b2] = BETAS.map(|beta| beta as f32);
        let shrink = shrink as f32;
        let keep = (1.0 - decay) as f32;
        let rate = (rate / corrections[0]) as f32;
        let scale = (1.0 / corrections[1].sqrt()) as f32;
        let moments = means.iter_mut().zip(squares);
        for ((value, gradient), (mean, square)) in values.iter_mut().zip(gradient).zip(moments) {
            let gradient = gradient * shrink;
            *mean = b1 * *mean + (1.0 - b1) * gradient;
            *square = b2 * *square + (1.0 - b2) * gradient * gradient;
            *value = keep * *value - rate * *mean / (square.sqrt() * scale + EPSILON as f32);
        }
        let values = Tensor::from_vec(values, self.var.shape(), self.var.device())?;
        Ok(self.var.set(&values)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: AdamWConfig = AdamWConfig {
        learning_rate: 0.1,
        warm_up: 4,
        clip: 1.0,
        weight_decay: 0.5,
    };

    fn step(values: &Var, optimizer: &mut AdamW) -> f64 {
        let target = Tensor::new(&[[3f32, -4.0]], &Device::Cpu).unwrap();
        let loss = (values.as_tensor() * target).unwrap().sum_all().unwrap();
        optimizer.step(&loss.backward().unwrap()).unwrap()
    }

    #[test]
    fn learning_rate_grows_and_falls() {
        let rate = |step| AdamW::learning_rate(&CONFIG, step);
        assert_eq!([1, 2, 4, 16].map(rate), [0.025, 0.05, 0.1, 0.05]);
    }

    #[test]
    fn steps_follow_the_formula() {
        let values = Var::new(&[[1f32, 2.0]], &Device::Cpu).unwrap();
        let vars = BTreeMap::from([("x".to_owned(), values.clone())]);
        let mut optimizer = AdamW::new(CONFIG, &vars);
        // The gradient (3, -4) has the length 5, and is clipped to (0.6, -0.8). The first step of Adam
        // goes by the learning rate, 0.025, against the sign. The decay takes 1.25% off before.
        assert_eq!(step(&values, &mut optimizer), 5.0);
        let after = values.to_vec2::<f32>().unwrap();
        for (value, expected) in after[0].iter().zip([0.9875 - 0.025, 1.975 + 0.025]) {
            assert!((value - expected).abs() < 1e-6, "{value} {expected}");
        }
    }

    #[test]
    fn restored_optimizer_continues_with_the_same_bits() {
        let values = Var::new(&[[1f32, 2.0]], &Device::Cpu).unwrap();
        let vars = BTreeMap::from([("x".to_owned(), values.clone())]);
        let mut optimizer = AdamW::new(CONFIG, &vars);
        for _ in 0..5 {
            step(&values, &mut optimizer);
        }
        let saved: BTreeMap<String, Tensor> = optimizer.state().unwrap().into_iter().collect();
        let copy = Var::from_tensor(&values.copy().unwrap()).unwrap();
        step(&values, &mut optimizer);

        let vars = BTreeMap::from([("x".to_owned(), copy.clone())]);
        let mut other = AdamW::new(CONFIG, &vars);
        let mut take = |name: &str, _: &[usize]| Ok(saved[name].clone());
        other.restore(5, &mut take).unwrap();
        step(&copy, &mut other);
        assert_eq!(
            values.to_vec2::<f32>().unwrap(),
            copy.to_vec2::<f32>().unwrap()
        );
    }
}
