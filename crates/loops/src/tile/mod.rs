//! Tiles: nests of independent loops around a sum, for registers and caches.
//!
//! The elements that a nest computes may be computed in any order, so its loops may be exchanged and cut into blocks. What is worth it follows
//! from the accesses alone: a load that does not vary with a loop is shared by that loop's iterations, if they run side by side.
//!
//! Before -> after, with tiles of 4 x 3:
//! ```text
//! parallel i = 0 to N { parallel j = i to N { A[..] = sum(x = 0 to M) B[M * i + x] * B[M * j + x] } }
//! ```
//! becomes, for every block of `x`,
//! ```text
//! parallel i' = 0 to N - 3 step 4 {
//!   unroll i = i' to i' + 4 { unroll j = i to i' + 3 { .. } }                        the rim of the triangle
//!   parallel j' = i' + 3 to N - 2 step 3 {
//!     unroll i = i' to i' + 4 { unroll j = j' to j' + 3 { A[..] += sum(x) .. } }     rectangles
//!   }
//!   parallel j = .. { unroll i = i' to i' + 4 { .. } }                               columns that are left
//! }
//! parallel i = .. { .. }                                                             rows that are left
//! ```
//!
//! Steps: [`choose`] finds the loops to unroll and by how much, [`reorder`] brings them innermost, [`split`] cuts them into full tiles, rims and
//! rests, [`block`] cuts sums so that what tiles share stays in a cache, [`pack`] copies what is read far apart, and [`partial`] cuts long sums so that
//! threads share them. What has no sums is put into vectors by [`stream`]; loops over stored elements that are no sums have registers by [`hold`], and memory by [`lift`]. What a [`Plan`] says goes before what they would choose.
//!
//! Invariant: a store is executed once for each element as before, with the same terms; only the order of additions differs. Elements of
//! a sum that is cut are set by its first block.

mod block;
mod choose;
mod digits;
mod fetch;
mod fuse;
mod hold;
mod lift;
mod pack;
mod partial;
mod pieces;
mod plan;
mod reorder;
mod skew;
mod split;
mod stream;
#[cfg(test)]
mod tests;
mod together;
mod work;

use std::collections::BTreeMap;

use self::choose::Choice;
use self::pack::Packed;
use crate::ir::*;
use crate::linear::{Facts, flatten_max, flatten_min};
use crate::machine::Machine;
use crate::passes::Context;
pub use plan::{Plan, Plans};

/// Tiles every nest of a module that gains by it.
pub fn tile(module: &mut Module, machine: &Machine) {
    run(module, &Context::of(machine));
}

/// Tiles every nest of a module for which there is a plan, or that gains by it.
pub fn tile_as_planned(module: &mut Module, machine: &Machine, plans: &Plans) {
    run(module, &Context { machine, plans });
}

/// The pass `tile`.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    let (tiling, plans) = (context.machine, context.plans);
    let mut buffers = module.buffers.clone();
    for function in &mut module.functions {
        let mut body = std::mem::take(&mut function.body);
        together::merge(&mut body, plans, &buffers);
        pieces::split(&mut body, &mut function.vars, plans);
        let facts = Facts::default();
        let mut tiler = Tiler {
            tiling,
            plans,
            buffers: &mut buffers,
            function,
            facts,
            first: None,
            blocks: None,
            packed: None,
            lanes: None,
            statements: body.len(),
            inside: false,
            origins: BTreeMap::new(),
        };
        tiler.unroll_sums(&mut body);
        tiler.block(&mut body);
        tiler.fuse(&mut body);
        tiler.stream(&mut body);
        tiler.share(&mut body);
        lift::lift(&mut body);
        tiler.hold(&mut body);
        function.body = body;
    }
    module.buffers = buffers;
}

struct Tiler<'a> {
    tiling: &'a Machine,
    plans: &'a Plans,
    /// Those of the module, and workspaces after them.
    buffers: &'a mut Vec<Buffer>,
    function: &'a mut Function,
    facts: Facts,
    /// Where elements are set before anything is added to them.
    first: Option<Condition>,
    /// The loop of the current nest whose elements are in lanes, and their number.
    lanes: Option<(VarId, i64)>,
    /// The variable of the sum that is cut into blocks, and terms of a block.
    blocks: Option<(VarId, i64)>,
    /// What tiles read of a panel.
    packed: Option<Packed>,
    /// Statements of the function.
    statements: usize,
    /// Whether a parallel loop is around.
    inside: bool,
    /// The loops that loops over their pieces were cut from.
    origins: BTreeMap<VarId, VarId>,
}

impl Tiler<'_> {
    fn block(&mut self, body: &mut Vec<Stmt>) {
        let mut result = Vec::new();
        for mut stmt in std::mem::take(body) {
            let nest = Nest::of(&stmt);
            if let Some(tiled) = nest.and_then(|nest| self.nest(nest)) {
                result.extend(tiled);
                continue;
            }
            let len = self.facts.len();
            match &mut stmt {
                Stmt::For(inner) => {
                    self.facts.assume_range(inner.var, &inner.lower, &inner.upper);
                    let outer = self.inside;
                    self.inside |= inner.mark.is_parallel();
                    self.block(&mut inner.body);
                    self.inside = outer;
                }
                // Walks over levels, of which each thread has a part.
                Stmt::Share(inner) => {
                    self.facts.assume_share(inner);
                    self.block_inside(&mut inner.body);
                }
                // Tiled already, or made of what is tiled.
                Stmt::Partial(_) | Stmt::Team(_) | Stmt::Call(_) => {}
                // What they are around depends on where they are, but not on itself.
                Stmt::While(inner) => {
                    self.block_inside(&mut inner.body);
                    self.block_inside(&mut inner.after);
                }
                Stmt::CoIter(inner) => {
                    for case in &mut inner.cases {
                        self.block_inside(&mut case.body);
                    }
                }
                Stmt::Workspace(inner) => self.block_inside(&mut inner.body),
                Stmt::Let(inner) => self.block_inside(&mut inner.body),
                Stmt::If(inner) => {
                    self.facts.assume(&inner.condition);
                    self.block(&mut inner.then);
                    self.facts.truncate(len);
                    self.facts.assume(&inner.condition.clone().negate());
                    self.block(&mut inner.otherwise);
                }
                Stmt::Store(_) | Stmt::Register(_) => {}
            }
            self.facts.truncate(len);
            match stmt {
                Stmt::For(inner) => result.extend(self.unrolled(inner)),
                stmt => result.push(stmt),
            }
        }
        *body = result;
    }

    /// Tiles statements that threads are not to share.
    fn block_inside(&mut self, body: &mut Vec<Stmt>) {
        let outer = std::mem::replace(&mut self.inside, true);
        self.block(body);
        self.inside = outer;
    }

    fn nest(&mut self, nest: Nest) -> Option<Vec<Stmt>> {
        // In which type it is computed.
        let element = match self.buffers.get(nest.store.buffer.0 as usize)?.element {
            element if element.is_integer() => Element::I64,
            element => element,
        };
        let choice = choose::choose(self, &nest, element);
        let ordered = choice.as_ref().map_or(&nest, |choice| &choice.nest).clone();
        match self.partial(&ordered, choice.as_ref()) {
            Some((mut partial, part)) => {
                let len = self.facts.len();
                self.facts.assume_partial(&partial);
                partial.body = match choice {
                    Some(choice) => self.tiled(Choice { nest: part, ..choice }),
                    None => Nest::wrapped(&part.levels, vec![Stmt::Store(part.store)]),
                };
                self.facts.truncate(len);
                Some(vec![Stmt::Partial(partial)])
            }
            None => {
                // Rows of stored elements are as long as they are: parts of as many rows are not parts of equal work.
                let uneven = || self.shares(&nest) && nest.store.value.has_stored_ranges();
                let plain = || Choice { nest: nest.clone(), factors: Vec::new(), lanes: None };
                let choice = choice.or_else(|| uneven().then(plain));
                choice.map(|choice| self.tiled(choice))
            }
        }
    }

    /// A nest in tiles, and in parts where there are several threads.
    fn tiled(&mut self, mut choice: Choice) -> Vec<Stmt> {
        self.lanes = choice.lanes;
        match self.shares(&choice.nest) {
            true => vec![self.shared(choice)],
            false => {
                self.streamed(&mut choice);
                block::blocks(self, &choice)
            }
        }
    }

    /// Whether a nest is cut into parts for several threads.
    fn shares(&self, nest: &Nest) -> bool {
        self.tiling.has_threads()
            && !self.inside
            && !nest.levels.is_empty()
            && self.shares_outermost(nest)
    }

    /// A nest in parts of equal work, each in tiles.
    fn shared(&mut self, mut choice: Choice) -> Stmt {
        let outer = choice.nest.levels[0].clone();
        let (begin, end) = (self.fresh(outer.var, "b"), self.fresh(outer.var, "e"));
        let work = Some(work::before(&choice.nest.levels, &choice.nest.store.value, end));
        // Tiles of rows begin where parts do.
        let rows = choice.nest.levels.len() == choice.factors.len();
        let step = if rows { choice.factors[0] } else { 1 };
        let mut share =
            Share { begin, end, lower: outer.lower, upper: outer.upper, step, work, body: vec![] };
        let len = self.facts.len();
        self.facts.assume_share(&share);
        choice.nest.levels[0].lower = vec![Index::Var(begin)];
        choice.nest.levels[0].upper = vec![Index::Var(end)];
        self.streamed(&mut choice);
        share.body = block::blocks(self, &choice);
        self.facts.truncate(len);
        Stmt::Share(share)
    }

    /// What is executed for an element.
    fn element(&self, store: &Store) -> Vec<Stmt> {
        let mut body = Vec::new();
        if let Some(first) = &self.first {
            let zero = Stmt::set(store.buffer, store.index.clone(), Value::Const(0.0));
            body.push(Stmt::when(first.clone(), vec![zero]));
        }
        body.push(Stmt::Store(store.clone()));
        body
    }

    /// A new buffer of the module, for a workspace.
    fn workspace(&mut self, mut name: String, element: Element, size: Index) -> Option<BufferId> {
        let workspace = BufferId(u32::try_from(self.buffers.len()).ok()?);
        while self.buffers.iter().any(|buffer| buffer.name == name) {
            name.push('_');
        }
        self.buffers.push(Buffer { name, element, size, space: Space::Main });
        Some(workspace)
    }

    fn fresh(&mut self, like: VarId, mark: &str) -> VarId {
        let name = self.function.vars.get(like.0 as usize).cloned().unwrap_or_default();
        let var = self.function.fresh_var(format!("{name}{mark}"));
        self.origins.insert(var, self.origins.get(&like).copied().unwrap_or(like));
        var
    }
}

/// The range of a loop by steps of 1 whose iterations are independent.
#[derive(Clone, Debug, PartialEq)]
struct Level {
    var: VarId,
    lower: Vec<Index>,
    upper: Vec<Index>,
}

impl Level {
    /// Adds what the range says of its variable, bound by bound.
    fn conditions(&self, list: &mut Vec<Condition>) {
        let (mut lowers, mut uppers) = (Vec::new(), Vec::new());
        self.lower.iter().for_each(|bound| flatten_max(bound, &mut lowers));
        self.upper.iter().for_each(|bound| flatten_min(bound, &mut uppers));
        let var = || Index::Var(self.var);
        list.extend(lowers.into_iter().map(|low| low.at_most(var())));
        list.extend(uppers.into_iter().map(|high| var().less(high)));
    }
}

/// Independent loops, each alone in the one around it, and a store in the innermost.
#[derive(Clone, Debug, PartialEq)]
struct Nest {
    levels: Vec<Level>,
    store: Store,
}

impl Nest {
    fn of(stmt: &Stmt) -> Option<Nest> {
        let mut levels = Vec::new();
        let mut stmt = stmt;
        while let Stmt::For(inner) = stmt {
            let [only] = &inner.body[..] else { return None };
            if inner.mark != Mark::THREADS || inner.step != 1 {
                return None;
            }
            let (lower, upper) = (inner.lower.clone(), inner.upper.clone());
            levels.push(Level { var: inner.var, lower, upper });
            stmt = only;
        }
        let Stmt::Store(store) = stmt else { return None };
        // What is read must not depend on the order of what is written.
        if store.value.loads(store.buffer) {
            return None;
        }
        Some(Nest { levels, store: store.clone() })
    }

    /// The loops from `at` on with a body inside.
    fn wrapped(levels: &[Level], body: Vec<Stmt>) -> Vec<Stmt> {
        levels.iter().rev().fold(body, |body, level| {
            let (lower, upper) = (level.lower.clone(), level.upper.clone());
            vec![Stmt::For(For {
                var: level.var,
                lower,
                upper,
                step: 1,
                mark: Mark::THREADS,
                body,
            })]
        })
    }
}
