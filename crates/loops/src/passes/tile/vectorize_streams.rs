//! Nests that only move and combine elements are cut into vectors, if they may write more than a cache holds or call
//! functions.
//!
//! What has no sums has no tiles: what it stays in a cache with, LLVM makes vectors of, but for calls of functions such
//! as `exp`, of which libraries have versions for all lanes of a vector. More goes to memory past the caches
//! (`stream-stores`), in vectors that begin at lines of memory.
//!
//! Before -> after: `parallel i = 0 to N { y[i] = a[i] * x[i] }` -> `parallel i = 0 to N hint(nest, tile 32, lanes 8) {
//! .. }`.

use super::nest::Nest;
use super::stream_stores::streams;
use super::walk::{Walk, each_function};
use crate::ir::*;
use crate::lanes;
use crate::passes::Context;

/// Vectors side by side; one where functions are called, which need all registers.
const VECTORS: i64 = 4;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_function(module, context, |walk, body| {
        // Functions of many statements share code between them instead.
        if !walk.function.hints.compact {
            vectorize(walk, body);
        }
    });
}

/// Leaves hints for the nests of a block.
fn vectorize(walk: &mut Walk<'_>, body: &[Stmt]) {
    for stmt in body {
        if let Some(nest) = Nest::plain(stmt) {
            if let Some((var, count)) = lane(walk, &nest) {
                let hints = &mut walk.function.hints;
                hints.update(nest.levels[0].var, |hint| hint.nest = true);
                hints.update(var, |hint| {
                    let vectors = if nest.store.value.has_calls() { 1 } else { VECTORS };
                    (hint.tile, hint.lanes) = (Some(vectors * count), Some(count));
                });
            }
            continue;
        }
        let outer = walk.inside;
        walk.inside |= match stmt {
            Stmt::For(inner) => matches!(inner.mark, Mark::Parallel(_)),
            Stmt::Partitioned(_) | Stmt::Partial(_) => true,
            Stmt::If(_) | Stmt::Store(_) => false,
            // What others are around is never independent.
            _ => continue,
        };
        stmt.bodies().into_iter().for_each(|body| vectorize(walk, body));
        walk.inside = outer;
    }
}

/// The innermost loop of a nest without sums and the lanes that its elements can be in, where they may be many.
fn lane(walk: &Walk<'_>, nest: &Nest) -> Option<(VarId, i64)> {
    let store = &nest.store;
    let element = walk.buffers.get(store.buffer.0 as usize)?.element.computed();
    let count = walk.machine.lanes(element.bytes() as i64);
    let var = nest.levels.last()?.var;
    let calls = store.value.has_calls();
    let possible = count > 1 && (calls || !element.is_integer()) && !has_sums(&store.value);
    let in_lanes = lanes::of_elements(store, var) || lanes::of_calls(store, var);
    if !possible || nest.is_scheduled(&walk.function.hints) || !in_lanes {
        return None;
    }
    (calls || streams(walk, nest, var, !walk.inside).is_some()).then_some((var, count))
}

/// Whether there are sums in a value.
pub(super) fn has_sums(value: &Value) -> bool {
    let mut sums = false;
    value.visit(&mut |value| sums |= matches!(value, Value::Sum(_)));
    sums
}

#[cfg(test)]
mod tests {
    use super::super::tests::SMALL;
    use crate::passes::Context;
    use crate::*;
    use expect_test::expect;

    #[test]
    fn loops_with_calls_are_cut_into_vectors() {
        let of = |body: &str| {
            let text = format!(
                "module(N)\nbuffer A : f64[100]\nbuffer B : f64[100]\nbuffer P : bool[100]\n\
                 func f(out A, in B, out P) {{ {body} }}"
            );
            let mut module = parse(&text).unwrap();
            super::run(&mut module, &Context::of(&SMALL));
            let text = module.to_string();
            let start = text.find("{\n").unwrap() + 4;
            text[start..].lines().next().unwrap_or_default().to_owned() + "\n"
        };
        let all = [
            of("parallel i = 0 to 100 { A[i] = sqrt(B[i]) }"),
            of("parallel i = 0 to 100 { A[i] = tanh(B[i]) }"),
            of("parallel i = 0 to 100 { P[i] = compare(exp(B[i]) < 2.0) }"),
            of("parallel i = 0 to 50 { A[2 * i] = tanh(B[i]) }"),
            of("parallel i = 0 to 100 { A[i] = tanh(B[0]) }"),
            of("parallel i = 0 to 100 { A[i] = tanh(B[i / 2]) * B[99 - i] }"),
        ];
        expect![[r#"
            parallel i = 0 to 100 {
            parallel i = 0 to 100 hint(nest, tile 4, lanes 4) {
            parallel i = 0 to 100 hint(nest, tile 4, lanes 4) {
            parallel i = 0 to 50 hint(nest, tile 4, lanes 4) {
            parallel i = 0 to 100 {
            parallel i = 0 to 100 hint(nest, tile 4, lanes 4) {
        "#]]
        .assert_eq(&all.concat());
    }
}
