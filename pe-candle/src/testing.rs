//! Hooks for the tests and benchmarks of this workspace. They are not part of the public API.

use crate::kernel::Level;
pub use crate::kernel::{Plan, Route};
use crate::layers::additive::PositionalEncoding;
use crate::layers::bias::AttentionBias;
use crate::layers::dropout::Dropout;
use crate::layers::grid::fixed::GridEncoding;
use crate::layers::grid::learned::LearnedGrid;
use crate::layers::learned::LearnedPositional;
use crate::layers::reference::Paths;
use crate::layers::rotary::RotaryEmbedding;
use crate::layers::rotary::axial::AxialRotaryEmbedding;
use crate::layers::rotary::learned::LearnedRotary;

/// An instruction set of this machine.
#[derive(Debug, Clone, Copy)]
pub struct InstructionSet(Level);

impl InstructionSet {
    /// Lists the instruction sets of this machine with their names, the best one last.
    pub fn available() -> Vec<(&'static str, Self)> {
        let named = |level: Level| (level.name(), Self(level));
        Level::available().into_iter().map(named).collect()
    }

    /// Makes all layers of this process use this set. Returns whether it did: after the first layer it is too late.
    pub fn force(self) -> bool {
        self.0.force()
    }
}

/// A layer with calls that can be computed in another way.
pub trait Planned: Clone {
    /// Returns the layer's plan.
    fn plan(&mut self) -> &mut Plan;

    /// Returns the same layer on an instruction set.
    fn on(&self, set: InstructionSet) -> Self {
        let mut layer = self.clone();
        layer.plan().level = set.0;
        layer
    }

    /// Returns the same layer by its reference path.
    fn by_reference(&self, route: Route) -> Self {
        Paths::link();
        let mut layer = self.clone();
        layer.plan().reference = Some(route);
        layer
    }
}

impl Planned for Dropout {
    fn plan(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

impl Planned for GridEncoding {
    fn plan(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

impl Planned for LearnedGrid {
    fn plan(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

impl Planned for PositionalEncoding {
    fn plan(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

impl Planned for LearnedPositional {
    fn plan(&mut self) -> &mut Plan {
        &mut self.adding.plan
    }
}

impl Planned for AttentionBias {
    fn plan(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

impl Planned for LearnedRotary {
    fn plan(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

impl Planned for RotaryEmbedding {
    fn plan(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

impl Planned for AxialRotaryEmbedding {
    fn plan(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

/// A layer with tables that grow.
pub trait Grown {
    /// Returns the number of rows built until now.
    fn rows_built(&self) -> usize;
}

impl Grown for PositionalEncoding {
    fn rows_built(&self) -> usize {
        self.built()
    }
}

impl Grown for RotaryEmbedding {
    fn rows_built(&self) -> usize {
        self.built()
    }
}
