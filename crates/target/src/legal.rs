//! What a module may say to a machine: checks for [`Target::legalize`](crate::Target::legalize).

use dastac_loops::machine::Machine;
use dastac_loops::{
    BufferId, Function, Mark, Module, ParallelLevel, Space, Stmt, Workspace, verify,
};

use crate::{Illegal, TargetError};

/// Checks the invariants of the loop IR, on which generated code relies, and that the machine has every memory and
/// level of parallelism that the module names.
///
/// Main memory and the stack are everywhere. So are threads: without them, such a loop runs one iteration after the
/// other.
///
/// # Errors
/// All violations, or all that the machine does not have.
pub fn check(module: &Module, machine: &Machine, target: &str) -> Result<(), TargetError> {
    verify(module).map_err(|errors| {
        let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
        TargetError::Invalid(all.join("; "))
    })?;
    let mut reasons = spaces(module, machine);
    reasons.extend(complex(module));
    for function in &module.functions {
        reasons.extend(arguments(module, function));
        reasons.extend(statements(function, machine));
        reasons.extend(small_memories(module, machine, function));
    }
    refuse(reasons, target)
}

/// An error of all reasons, if there are any.
///
/// # Errors
/// The reasons.
pub fn refuse(reasons: Vec<Illegal>, target: &str) -> Result<(), TargetError> {
    match reasons.is_empty() {
        true => Ok(()),
        false => Err(TargetError::Illegal { target: target.to_owned(), reasons }),
    }
}

fn spaces(module: &Module, machine: &Machine) -> Vec<Illegal> {
    let has = |space| {
        matches!(space, Space::Main | Space::Stack)
            || machine.memories.iter().any(|memory| memory.space == space)
    };
    let missing = module.buffers.iter().filter(|buffer| !has(buffer.space));
    let illegal =
        missing.map(|buffer| Illegal::Space { buffer: buffer.name.clone(), space: buffer.space });
    illegal.collect()
}

/// Buffers of complex elements, of which the pass `split-complex` makes real ones.
fn complex(module: &Module) -> Vec<Illegal> {
    let found = module.buffers.iter().filter(|buffer| buffer.element.is_complex());
    found.map(|buffer| Illegal::Complex { buffer: buffer.name.clone() }).collect()
}

/// What the callers of exported functions cannot pass.
fn arguments(module: &Module, function: &Function) -> Vec<Illegal> {
    let exported = function.private.is_none();
    let buffers = function.args.iter().map(|(id, _)| &module.buffers[id.0 as usize]);
    let elsewhere = buffers.filter(|buffer| exported && buffer.space != Space::Main);
    let illegal = elsewhere.map(|buffer| Illegal::Argument {
        function: function.name.clone(),
        buffer: buffer.name.clone(),
    });
    illegal.collect()
}

fn statements(function: &Function, machine: &Machine) -> Vec<Illegal> {
    let mut reasons = Vec::new();
    let named = || function.name.clone();
    function.body.iter().for_each(|stmt| {
        stmt.visit(&mut |stmt| {
            let reason = match stmt {
                Stmt::For(inner) => match inner.mark {
                    Mark::Parallel(level) if !has_level(machine, level) => {
                        Illegal::Level { function: named(), level }
                    }
                    _ => return,
                },
                Stmt::CoIter(_) => {
                    Illegal::Statement { function: named(), what: "a walk over several levels" }
                }
                Stmt::Append(_) => {
                    Illegal::Statement { function: named(), what: "a level to be assembled" }
                }
                _ => return,
            };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        });
    });
    reasons
}

fn has_level(machine: &Machine, level: ParallelLevel) -> bool {
    level == ParallelLevel::Threads || machine.has(level)
}

/// Workspaces in memories of a fixed size: their sizes are constants, and those inside each other fit together.
fn small_memories(module: &Module, machine: &Machine, function: &Function) -> Vec<Illegal> {
    let mut reasons = Vec::new();
    for memory in &machine.memories {
        let mut usage = Usage { module, space: memory.space, unknown: Vec::new() };
        let needed = usage.most(&function.body);
        reasons.extend(usage.unknown.into_iter().map(|buffer| Illegal::Size {
            buffer: module.buffers[buffer.0 as usize].name.clone(),
            space: memory.space,
        }));
        if needed > memory.bytes {
            let (function, space, bytes) = (function.name.clone(), memory.space, memory.bytes);
            reasons.push(Illegal::Full { function, space, needed, bytes });
        }
    }
    reasons
}

/// How much of a memory is used.
struct Usage<'a> {
    module: &'a Module,
    space: Space,
    /// Workspaces there whose size is not a constant.
    unknown: Vec<BufferId>,
}

impl Usage<'_> {
    /// Bytes that these statements use at once.
    fn most(&mut self, body: &[Stmt]) -> i64 {
        body.iter().map(|stmt| self.bytes(stmt)).max().unwrap_or(0)
    }

    fn bytes(&mut self, stmt: &Stmt) -> i64 {
        let own = match stmt {
            Stmt::Workspace(inner) => self.own(inner),
            _ => 0,
        };
        let inside = stmt.bodies().into_iter().map(|body| self.most(body)).max();
        own.saturating_add(inside.unwrap_or(0))
    }

    fn own(&mut self, workspace: &Workspace) -> i64 {
        let buffer = &self.module.buffers[workspace.buffer.0 as usize];
        if buffer.space != self.space {
            return 0;
        }
        let Some(size) = workspace.size.as_const() else {
            self.unknown.push(workspace.buffer);
            return 0;
        };
        size.max(0).saturating_mul(buffer.element.bytes() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dastac_loops::machine::{Memory, Processors};
    use dastac_loops::parse;
    use expect_test::expect;

    fn machine() -> Machine {
        let (space, level) = (Space::Scratchpad, ParallelLevel::Cores);
        let memories = vec![Memory { space, bytes: 64, level }];
        Machine { memories, levels: vec![Processors { level, count: Some(4) }], ..Machine::PLAIN }
    }

    fn reasons(body: &str) -> String {
        let text = format!(
            "module(N)\nbuffer A : f32[N]\nbuffer S : f32[8] in scratchpad\n\
             buffer T : f64[8] in scratchpad\nfunc f(inout A) {{ {body} }}"
        );
        let result = check(&parse(&text).unwrap(), &machine(), "a test");
        result.err().map_or("legal".to_owned(), |error| error.to_string())
    }

    #[test]
    fn what_a_machine_cannot_take() {
        let bodies = [
            "parallel(cores) i = 0 to N { with S of 8 { with T of 4 { S[0] = 1.0 T[0] = 2.0 A[i] = S[0] } } }",
            "parallel i = 0 to N { A[i] = 1.0 }",
            "parallel(lanes) i = 0 to N { A[i] = 1.0 }",
            "with S of 8 { with T of 8 { A[0] = 1.0 } }",
            "with S of 8 { A[0] = 1.0 } with T of 8 { A[0] = 1.0 }",
            "with S of N { A[0] = 1.0 }",
        ];
        let all: Vec<String> = bodies.iter().map(|body| reasons(body)).collect();
        expect![[r#"
            legal
            legal
            no code for a test: a loop of function `f` is parallel on lanes, which the machine does not have
            no code for a test: function `f` needs 96 bytes of scratchpad memory at once, of 64
            legal
            no code for a test: the size of workspace `S` in scratchpad memory is not a constant"#]].assert_eq(&all.join("\n"));
        let text =
            "module()\nbuffer A : f32[1] in shared\nfunc f(out A) { A[0] = 1.0 A[1] = A[2] }";
        let error = check(&parse(text).unwrap(), &machine(), "a test").unwrap_err();
        expect!["no code for a test: buffer `A` stands in shared memory, which the machine does not have; function \
            `f` takes buffer `A`, which does not stand in main memory"].assert_eq(&error.to_string());
    }
}
