//! What a system is asked to compute.

use crate::job::Job;
use crate::system::System;
use dastac_driver::driver::Laid;
use dastac_driver::run::Runner;

/// A system that is to be measured, and what it computes.
pub struct Request<'a> {
    /// The name of the system.
    pub name: &'a str,
    /// The program, its size, and the places of other systems.
    pub job: &'a Job,
    /// The program with its layouts.
    pub laid: &'a Laid,
    /// dastac's own run, which has the inputs.
    pub shared: &'a mut Runner,
}

/// A system that is ready to run, or the reason why there is none.
pub type Ready = Result<Box<dyn System>, String>;
