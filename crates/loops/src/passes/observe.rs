//! What may look on while passes run.

use std::time::Duration;

use super::pass::{Pass, PassError};
use crate::ir::Module;
use crate::verify;

/// Whether passes go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The next pass runs.
    Continue,
    /// No further pass runs.
    Stop,
}

/// Sees the module before the first pass and after each.
pub trait Observer {
    /// Sees the module that the passes begin with.
    ///
    /// # Errors
    /// What is wrong with it.
    fn input(&mut self, _module: &Module) -> Result<(), PassError> {
        Ok(())
    }

    /// Sees what a pass made of the module, and how long that took.
    ///
    /// # Errors
    /// What is wrong with it.
    fn after(
        &mut self,
        pass: &'static Pass,
        took: Duration,
        module: &Module,
    ) -> Result<Flow, PassError>;
}

/// Sees nothing.
impl Observer for () {
    fn after(&mut self, _: &'static Pass, _: Duration, _: &Module) -> Result<Flow, PassError> {
        Ok(Flow::Continue)
    }
}

/// Several observers, one after the other; if one of them stops, passes stop.
impl Observer for Vec<&mut dyn Observer> {
    fn input(&mut self, module: &Module) -> Result<(), PassError> {
        self.iter_mut().try_for_each(|observer| observer.input(module))
    }

    fn after(
        &mut self,
        pass: &'static Pass,
        took: Duration,
        module: &Module,
    ) -> Result<Flow, PassError> {
        let mut flow = Flow::Continue;
        for observer in self {
            if observer.after(pass, took, module)? == Flow::Stop {
                flow = Flow::Stop;
            }
        }
        Ok(flow)
    }
}

/// Verifies the module after each pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verified;

impl Verified {
    fn check(module: &Module, pass: &'static str) -> Result<(), PassError> {
        verify(module).map_err(|errors| PassError { pass, errors })
    }
}

impl Observer for Verified {
    fn input(&mut self, module: &Module) -> Result<(), PassError> {
        Verified::check(module, "input")
    }

    fn after(
        &mut self,
        pass: &'static Pass,
        _: Duration,
        module: &Module,
    ) -> Result<Flow, PassError> {
        Verified::check(module, pass.name).map(|()| Flow::Continue)
    }
}

/// How long each pass took, in their order.
#[derive(Clone, Debug, Default)]
pub struct Times(pub Vec<(&'static str, Duration)>);

impl Observer for Times {
    fn after(
        &mut self,
        pass: &'static Pass,
        took: Duration,
        _: &Module,
    ) -> Result<Flow, PassError> {
        self.0.push((pass.name, took));
        Ok(Flow::Continue)
    }
}

/// Stops after the first pass of a name.
#[derive(Clone, Debug)]
pub struct StopAfter(pub String);

impl Observer for StopAfter {
    fn after(&mut self, pass: &'static Pass, _: Duration, _: &Module) -> Result<Flow, PassError> {
        Ok(if pass.name == self.0 { Flow::Stop } else { Flow::Continue })
    }
}
