//! No call waits for rayon's pool while it holds a lock: the pool's threads may all be waiting for that
//! lock, and then both wait for ever.
//!
//! Each scene has a thread outside of the pool and all threads of the pool on the same memory.
//! `PE_STRESS_SECONDS=60` makes each last a minute (with `-- threads::locks`).

use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use candle_core::{DType, Device, ModuleT, Tensor};
use pe_candle::checkpoint::{self, LoadOptions, SinusoidalSpec};
use pe_candle::{
    Dropout, PositionalEncoding, PositionalEncodingConfig, RotaryEmbedding, RotaryEmbeddingConfig,
    sinusoidal_tensor,
};
use pe_core::{Sinusoidal, SinusoidalConfig};
use pe_tests::watchdog::PATIENCE;
use rayon::prelude::*;

use crate::again;

const CPU: &Device = &Device::Cpu;
const TIME: usize = 32_768;
const WIDTH: usize = 64;

type Call = Box<dyn Fn() + Send + Sync>;

/// What a thread outside of the pool and the threads of the pool do, again and again.
struct Scene {
    name: &'static str,
    outside: Call,
    inside: Call,
}

fn scene(
    name: &'static str,
    outside: impl Fn() + Send + Sync + 'static,
    inside: impl Fn() + Send + Sync + 'static,
) -> Scene {
    Scene {
        name,
        outside: Box::new(outside),
        inside: Box::new(inside),
    }
}

impl Scene {
    fn play(self, length: Duration) {
        let Self {
            name,
            outside,
            inside,
        } = self;
        let calls = Arc::new([const { AtomicUsize::new(0) }; 2]);
        let (done, wait) = channel();
        let counted = calls.clone();
        thread::spawn(move || {
            let end = Instant::now() + length;
            let repeat = |which: usize, call: &dyn Fn()| {
                while Instant::now() < end {
                    call();
                    counted[which].fetch_add(1, Ordering::Relaxed);
                }
            };
            thread::scope(|scope| {
                scope.spawn(|| repeat(0, &outside));
                repeat(1, &|| (0..8).into_par_iter().for_each(|_| inside()));
            });
            done.send(()).unwrap();
        });
        let ended = wait.recv_timeout(length + PATIENCE).is_ok();
        let calls = [0, 1].map(|which| calls[which].load(Ordering::Relaxed));
        println!(
            "{name}: {} calls outside, {} rounds inside",
            calls[0], calls[1]
        );
        assert!(ended, "{name} hangs after {calls:?} calls");
    }
}

fn additive(width: usize, rows: usize) -> PositionalEncoding {
    let config = PositionalEncodingConfig {
        max_seq_len: rows,
        dropout: 0.0,
        ..PositionalEncodingConfig::new(width)
    };
    PositionalEncoding::new(config, DType::F32, CPU).unwrap()
}

fn rotary() -> RotaryEmbedding {
    let config = RotaryEmbeddingConfig {
        max_seq_len: Some(TIME),
        ..RotaryEmbeddingConfig::new(WIDTH)
    };
    RotaryEmbedding::new(config, DType::F32, CPU).unwrap()
}

/// Two halves of one tensor, each large enough for several threads.
fn halves(dims: &[usize]) -> [Tensor; 2] {
    let whole = Tensor::zeros(dims, DType::F32, CPU).unwrap();
    [0, 1].map(|half| whole.narrow(0, half, 1).unwrap())
}

/// Scenes of a pair of calls, on halves of one tensor.
macro_rules! on_halves {
    ($layer:expr, $dims:expr, $name:literal, |$l:ident, $a:ident| $outside:expr, |$m:ident, $b:ident| $inside:expr) => {{
        let ($l, [$a, $b]) = ($layer.clone(), halves($dims));
        let $m = $layer.clone();
        scene(
            $name,
            move || {
                $outside.unwrap();
            },
            move || {
                $inside.unwrap();
            },
        )
    }};
}

fn scenes() -> Vec<Scene> {
    let (added, heads) = (&[2, TIME, WIDTH], &[2, 1, TIME, WIDTH]);
    let (layer, rotary, dropout) = (
        additive(WIDTH, TIME),
        rotary(),
        Dropout::new(0.5, 1).unwrap(),
    );
    let turns = AtomicUsize::new(0);
    let mut scenes = vec![
        on_halves!(
            layer,
            added,
            "in place, in place in the pool",
            |l, a| l.forward_inplace(&a, 0),
            |m, b| m.forward_inplace(&b, 0)
        ),
        on_halves!(
            layer,
            added,
            "in place, forward in the pool",
            |l, a| l.forward_inplace(&a, 0),
            |m, b| m.forward_t(&b, false)
        ),
        on_halves!(
            layer,
            added,
            "in place, affine in the pool",
            |l, a| l.forward_inplace(&a, 0),
            |m, b| {
                let _ = &m;
                b.affine(2.0, 1.0)
            }
        ),
        on_halves!(
            layer,
            added,
            "forward, in place in the pool",
            |l, a| l.forward_t(&a, false),
            |m, b| m.forward_inplace(&b, 0)
        ),
        on_halves!(
            layer,
            added,
            "forward and in place in the pool",
            |l, a| {
                let _ = (&l, &a);
                thread::sleep(Duration::from_millis(1));
                Some(())
            },
            |m, b| match turns.fetch_add(1, Ordering::Relaxed) % 2 {
                0 => m.forward_inplace(&b, 0),
                _ => m.forward_t(&b, false).map(drop),
            }
        ),
        on_halves!(
            rotary,
            heads,
            "rotary in place, in place in the pool",
            |l, a| l.apply_inplace(&a, 0),
            |m, b| m.apply_inplace(&b, 0)
        ),
        on_halves!(
            rotary,
            heads,
            "rotary in place, apply in the pool",
            |l, a| l.apply_inplace(&a, 0),
            |m, b| m.apply(&b, 0)
        ),
        on_halves!(
            rotary,
            heads,
            "rotary apply, in place in the pool",
            |l, a| l.apply(&a, 0),
            |m, b| m.apply_inplace(&b, 0)
        ),
    ];
    scenes.push({
        let ([a, b], layer) = (halves(added), layer.clone());
        scene(
            "dropout, in place in the pool",
            move || drop(dropout.forward(&a, true).unwrap()),
            move || layer.forward_inplace(&b, 0).unwrap(),
        )
    });
    scenes.extend(of_tables());
    scenes.extend(of_callers());
    scenes
}

/// A thread that has a lock for reading already, and waits for it once more behind a writer.
fn of_tables() -> [Scene; 2] {
    let rotary = rotary();
    let angles = Tensor::zeros((2, 16, WIDTH / 2), DType::F32, CPU).unwrap();
    let [cos, sin] = [0, 1].map(|which| angles.get(which).unwrap());
    let heads = Tensor::zeros((1, 1, 16, WIDTH), DType::F32, CPU).unwrap();
    let writer = additive(WIDTH / 2, 16);
    let layer = additive(WIDTH, 16);
    let table = layer.table().unwrap().unsqueeze(0).unwrap();
    let (of_layer, own) = (additive(WIDTH, 16), table.clone());
    [
        scene(
            "cosines and sines of one tensor that is written",
            move || writer.forward_inplace(&angles, 0).unwrap(),
            move || drop(rotary.apply_with_cos_sin(&heads, &cos, &sin).unwrap()),
        ),
        scene(
            "a table that is written, and read as input",
            move || of_layer.forward_inplace(&own, 0).unwrap(),
            move || drop(layer.forward_t(&table, false).unwrap()),
        ),
    ]
}

/// Callers that hold a lock of their own, as in a `OnceLock`.
fn of_callers() -> [Scene; 2] {
    let wide = Sinusoidal::paper(512).unwrap();
    let table = move || sinusoidal_tensor(&wide, 0..8_192, DType::F32, CPU).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pe.safetensors");
    let config = SinusoidalConfig::new(1024);
    let spec = SinusoidalSpec::new(config, 0, 8_208, DType::F32).unwrap();
    checkpoint::export(&path, &spec).unwrap();
    let load = Arc::new(move || {
        let _ = &dir;
        LoadOptions::default().load(&path).unwrap()
    });
    let locks = [0, 1].map(|_| Arc::new(Mutex::new(())));
    let [of_table, of_load] = locks.clone();
    let [in_table, in_load] = locks;
    let again = load.clone();
    [
        scene(
            "a table under a lock that the pool waits for",
            move || {
                let _held = of_table.lock().unwrap();
                drop(table());
            },
            move || drop(in_table.lock().unwrap()),
        ),
        scene(
            "a file under a lock that the pool waits for, and under it in the pool",
            move || {
                let _held = of_load.lock().unwrap();
                drop(load());
            },
            move || {
                let _held = in_load.lock().unwrap();
                drop(again());
            },
        ),
    ]
}

#[test]
fn calls_do_not_wait_for_the_pool_under_a_lock() {
    if again::given().is_none() {
        // A process of its own, since a hang does not end; and more threads than one.
        let mut command = Command::new(env::current_exe().unwrap());
        command.args([
            "--exact",
            "threads::locks::calls_do_not_wait_for_the_pool_under_a_lock",
        ]);
        again::passes(command.env("RAYON_NUM_THREADS", "3"), "1");
        return;
    }
    let seconds = env::var("PE_STRESS_SECONDS").map_or(0.3, |text| text.parse().unwrap());
    let only = env::var("PE_STRESS_SCENE").unwrap_or_default();
    for scene in scenes() {
        if scene.name.contains(&only) {
            scene.play(Duration::from_secs_f64(seconds));
        }
    }
}
