//! What runs on which thread: passes that make private functions, calls and teams of threads.
//!
//! They run after all that decides about loops by their shape, in this order:
//! 1. [`shapes`]: nests that differ in constants and buffers only become calls of one function,
//! 2. [`partial`]: sums in parts become a workspace, a parallel loop and calls,
//! 3. [`choose`]: of parallel loops and partitioned ranges the outermost stay, all others run in order,
//! 4. [`outline`]: what a thread executes becomes a function, in which buffers are known not to overlap,
//! 5. [`spare`]: ranges and loops with little work are executed on one thread,
//! 6. [`partition`]: ranges become teams of threads, each of which looks for its part,
//! 7. [`place`]: small workspaces go to the stack.

mod choose;
mod estimate;
mod functions;
mod outline;
mod partial;
mod partition;
mod place;
mod shape;
mod shapes;
mod spare;
#[cfg(test)]
mod tests;

use super::pass::{Example, Pass};
use super::pipeline::Sequence;

/// The passes about threads.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "share-shapes",
        about: "turn many nests that differ in constants and buffers into calls of one function",
        example: Example {
            before: "for i = 3 to N { C[i + 5] += B[i] } for i = 0 to N { C[i + 7] += D[i] } ..",
            after: "call f__shape1(3, 5) on C, B call f__shape1(0, 7) on C, D ..",
        },
        run: shapes::run,
    },
    Pass {
        name: "expand-partial-sums",
        about: "give sums in parts a workspace, a parallel loop over the parts and a function",
        example: Example {
            before: "partial b, e = 0 to M in 4 if N < M with A as W at h from 0 of N { .. } then { .. }",
            after: "if N < M { with W of N * 4 { parallel part = 0 to 4 { call f__body1(..) on W } .. } } else { .. }",
        },
        run: partial::run,
    },
    Pass {
        name: "choose-threads",
        about: "let the outermost parallel loops and ranges run on threads, all others in order",
        example: Example {
            before: "parallel i = 0 to N { parallel j = 0 to N { A[i * N + j] = 0.0 } }",
            after: "parallel i = 0 to N { for j = 0 to N { A[i * N + j] = 0.0 } }",
        },
        run: choose::run,
    },
    Pass {
        name: "outline",
        about: "make functions of what threads execute, in which buffers are known not to overlap",
        example: Example {
            before: "parallel i = 0 to N { for j = i to N { A[j] += B[i] } }",
            after: "parallel i = 0 to N { call f__body1(i) on A, B }",
        },
        run: outline::run,
    },
    Pass {
        name: "spare-threads",
        about: "execute ranges and loops with little work without waking threads",
        example: Example {
            before: "parallel i = 0 to N { call f__body1(i) on A }",
            after: "if max(N, 0) * 2 < 16384 { for i = 0 to N { .. } } else { parallel i = 0 to N { .. } }",
        },
        run: spare::run,
    },
    Pass {
        name: "partition",
        about: "turn partitioned ranges into teams of threads that look for their parts",
        example: Example {
            before: "partition a, b = 0 to N by w(b) { call f__body1(a, b) on A }",
            after: "if 0 < N { team part in parts { while low = 0, high = N if low < high { } then .. after { .. } } }",
        },
        run: partition::run,
    },
    Pass {
        name: "place-workspaces",
        about: "put workspaces of a few elements on the stack",
        example: Example {
            before: "buffer W : f64[1] .. with W of 16 { W[0] = 1.0 }",
            after: "buffer W : f64[1] in stack .. with W of 16 { W[0] = 1.0 }",
        },
        run: place::run,
    },
];

/// What threads execute, and memory for it.
pub const THREADS: Sequence = Sequence {
    name: "threads",
    passes: &[
        "share-shapes",
        "expand-partial-sums",
        "choose-threads",
        "outline",
        "spare-threads",
        "partition",
        "place-workspaces",
    ],
};

/// The same for code that checks its accesses: it is to find mistakes, so it shares out all there is, and it knows the
/// size of each buffer that a nest accesses.
pub const CHECKED_THREADS: Sequence = Sequence {
    name: "checked-threads",
    passes: &["expand-partial-sums", "choose-threads", "outline", "partition", "place-workspaces"],
};
