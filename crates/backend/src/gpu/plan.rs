//! What the host does for the kernels of a module, as plain data.
//!
//! Before -> after: `for n = N to N + 1 { call f__kernel1(n) on A }` ->
//! `Repeat n { Launch kernel 0, (n + 255) / 256 blocks, [n], [A] }`.

use dastac_loops::{Call, Function, Index, Mark, Module, ParallelLevel, Stmt};
use dastac_target::TargetError;
use dastac_target::launch::{Allocate, Grid, HostFunction, Kernel, Launch, Longest, Repeat, Step};

use super::map;
use crate::Result;
use crate::emit::lanes_of;

/// The plan of a module, without code.
pub(super) fn grid(module: &Module, prefix: &str) -> Result<Grid> {
    let mut grid = Grid::default();
    // The place of each function among the kernels.
    let mut places = Vec::new();
    for function in &module.functions {
        places.push(function.private.as_ref().map(|private| {
            grid.kernels.push(Kernel {
                name: format!("{prefix}{}", function.name),
                lanes: u32::try_from(lanes_of(function)).unwrap_or(u32::MAX),
                integers: private.integers.len(),
                symbols: private.symbols.clone(),
                buffers: function.args.len(),
                allocates: allocates(module, function),
            });
            grid.kernels.len() - 1
        }));
    }
    for function in module.functions.iter().filter(|function| function.private.is_none()) {
        let mut planner = Planner { module, function, places: &places, longest: Vec::new() };
        let steps = planner.steps(&function.body)?;
        grid.functions.push(HostFunction {
            name: function.name.clone(),
            variables: function.vars.len(),
            longest: planner.longest,
            steps,
        });
    }
    Ok(grid)
}

/// Whether lanes of a kernel ask for memory.
fn allocates(module: &Module, function: &Function) -> bool {
    let mut found = false;
    for stmt in &function.body {
        stmt.visit(&mut |stmt| {
            if let Stmt::Workspace(inner) = stmt {
                let space = module.buffers[inner.buffer.0 as usize].space;
                found |= space == dastac_loops::Space::Main;
            }
        });
    }
    found
}

struct Planner<'a> {
    module: &'a Module,
    function: &'a Function,
    places: &'a [Option<usize>],
    /// What is found out before the steps.
    longest: Vec<Longest>,
}

impl Planner<'_> {
    fn invalid(&self, what: &str) -> TargetError {
        TargetError::Invalid(format!("{what}, in `{}`", self.function.name))
    }

    fn steps(&mut self, body: &[Stmt]) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        for stmt in body {
            match map::longest(stmt) {
                Some(map::Longest { var, buffer, first, count, body }) => {
                    self.longest.push(Longest { var, buffer, first, count });
                    steps.extend(self.steps(body)?);
                }
                None => steps.push(self.step(stmt)?),
            }
        }
        Ok(steps)
    }

    fn step(&mut self, stmt: &Stmt) -> Result<Step> {
        Ok(match stmt {
            Stmt::Call(call) => Step::Launch(self.launch(call)?),
            Stmt::For(inner) if inner.mark == Mark::Sequential => Step::Repeat(Repeat {
                var: inner.var,
                lower: inner.lower.clone(),
                upper: inner.upper.clone(),
                step: inner.step,
                body: self.steps(&inner.body)?,
            }),
            Stmt::If(inner) => Step::Choose {
                condition: inner.condition.clone(),
                then: self.steps(&inner.then)?,
                otherwise: self.steps(&inner.otherwise)?,
            },
            Stmt::Workspace(inner) => {
                let buffer = &self.module.buffers[inner.buffer.0 as usize];
                Step::Allocate(Allocate {
                    buffer: inner.buffer,
                    name: buffer.name.clone(),
                    element: buffer.element,
                    size: inner.size.clone(),
                    zero: inner.zero,
                    instead: inner.instead.clone(),
                    body: self.steps(&inner.body)?,
                })
            }
            _ => return Err(self.invalid("the host is to do what only kernels do")),
        })
    }

    fn launch(&self, call: &Call) -> Result<Launch> {
        let at = call.function.0 as usize;
        let (callee, kernel) = (self.module.functions.get(at), self.places.get(at));
        let (Some(callee), Some(Some(kernel))) = (callee, kernel) else {
            return Err(self.invalid("a function is called that is no kernel"));
        };
        let ([Stmt::For(blocks)], Some(private)) = (&callee.body[..], &callee.private) else {
            return Err(self.invalid("a kernel is more than a loop over blocks"));
        };
        if blocks.mark != Mark::Parallel(ParallelLevel::Blocks) || blocks.step != 1 {
            return Err(self.invalid("a kernel is no loop over blocks"));
        }
        let ([lower], [upper]) = (&blocks.lower[..], &blocks.upper[..]) else {
            return Err(self.invalid("a loop over blocks has several bounds"));
        };
        let count = (upper.clone() - lower.clone()).rebuild(&|leaf| {
            let mut pairs = private.integers.iter().zip(&call.integers);
            let by = pairs.find(|(var, _)| *leaf == Index::Var(**var));
            by.map_or_else(|| leaf.clone(), |(_, by)| by.clone())
        });
        Ok(Launch {
            kernel: *kernel,
            blocks: count,
            integers: call.integers.clone(),
            buffers: call.buffers.clone(),
        })
    }
}
