//! Compiled programs as plain data for the run time: everything that it would otherwise ask isl or the program about.
//!
//! Symbols of the program are the first symbols of the code, in the same order; derived ones are replaced by what they
//! stand for.

use dastac_iterate::Structure;
use dastac_layout::{
    Layout, LayoutError, Piecewise, Polynomial, affine_to_index, expr_to_index, text,
};
use dastac_loops::{Index, SymbolId, VarId};
use dastac_poly::{LinearExpr, PwAff};
use dastac_runtime::program::{
    Assembled, Atom, Computed, Derived, Divisor, Expression, Keys, LevelCount, Magnitude, Monomial,
    Part, Phase, Program, Range, Role, Sizes, Stored, Structure as Assembly, TensorInfo,
};
use dastac_runtime::{Moves, TensorId};
use dastac_stur::ast::Expr;
use dastac_stur::infer::{Inferred, Statement};
use dastac_stur::sets::{Affine, Atom as SetAtom, Extent};

use crate::Error;
use crate::driver::{Built, Indices, Laid, Lowered};

/// A tensor of the run time.
pub(crate) fn id(tensor: dastac_stur::TensorId) -> TensorId {
    TensorId(tensor.0)
}

/// Tensors, symbols and sizes of a program with layouts.
///
/// # Errors
/// Failures of isl; names without a value, which are defects.
pub(crate) fn sizes(laid: &Laid) -> Result<Sizes, Error> {
    let inferred = laid.inferred();
    let resolve = |name: &str| symbol(inferred, name);
    let value = |expr: &Expr| -> Result<Index, Error> { Ok(expr_to_index(expr, &resolve)?) };
    let symbols = inferred.program.symbols.iter().map(|(name, _)| name.clone()).collect();
    let mut sizes = Sizes { symbols, ..Sizes::default() };
    for divisor in &inferred.program.divisors {
        sizes.divisors.push(Divisor { text: divisor.to_string(), value: value(divisor)? });
    }
    for derived in &inferred.program.derived {
        let text = derived.value.to_string();
        sizes.derived.push(Derived { text, value: value(&derived.value)? });
    }
    for (tensor, layout) in inferred.program.tensor_ids().zip(&laid.layouts) {
        sizes.tensors.push(tensor_info(inferred, layout, tensor)?);
    }
    let statements = inferred.rules.iter().flat_map(|rule| &rule.statements);
    for statement in statements.filter(|statement| !statement.is_exact()) {
        sizes.computed.push(computed(inferred, statement)?);
    }
    Ok(sizes)
}

/// What a name of isl or the program stands for.
fn symbol(inferred: &Inferred, name: &str) -> Option<Index> {
    let names = &inferred.sets.names;
    if let Some(value) = names.derived(name) {
        return expr_to_index(value, &|name| symbol(inferred, name)).ok();
    }
    let place =
        |wanted: &str| inferred.program.symbols.iter().position(|(known, _)| known == wanted);
    let place = place(name).or_else(|| place(names.original(name)))?;
    Some(Index::symbol(SymbolId(u32::try_from(place).ok()?)))
}

fn tensor_info(
    inferred: &Inferred,
    layout: &Layout,
    id: dastac_stur::TensorId,
) -> Result<TensorInfo, Error> {
    let tensor = inferred.program.tensor(id);
    let resolve = |name: &str| symbol(inferred, name);
    let extents = inferred.tensors[id.0].extents.iter();
    let extents: Result<Vec<Index>, Error> = extents.map(|one| extent(inferred, one)).collect();
    let format = tensor.format.as_ref().map(|stored| stored.format.clone());
    let packed = format.is_none();
    let magnitudes = |pieces: &Piecewise| -> Result<Vec<Magnitude>, Error> {
        let pieces = pieces.pieces.iter().filter(|_| packed);
        pieces.map(|piece| magnitude(inferred, layout, &piece.polynomial)).collect()
    };
    let [whole, whole_or_empty] = is_whole(inferred, layout, id);
    Ok(TensorInfo {
        name: tensor.name.clone(),
        role: role(tensor.role),
        element: tensor.element,
        extents: extents?,
        size: if packed { layout.size_index(&resolve)? } else { Index::constant(0) },
        index: match &format {
            None => text::position(inferred, id, layout),
            Some(format) => match inferred.program.fill(id) {
                0.0 => format.to_string(),
                fill => format!("{format}, else {fill}"),
            },
        },
        pieces: layout.index.pieces.len().max(1),
        positions: magnitudes(&layout.index)?,
        whole: packed && whole,
        whole_or_empty: packed && whole_or_empty,
        sizes: magnitudes(&layout.size)?,
        format,
        zero: inferred.program.zero(id),
    })
}

/// Whether a packed buffer is the dense array of the tensor's box: as large, with the same position everywhere; and
/// whether it is that or, for some sizes, empty.
fn is_whole(inferred: &Inferred, layout: &Layout, id: dastac_stur::TensorId) -> [bool; 2] {
    // A box whose extents are minima has no such layout.
    let Ok(dense) = Layout::dense(inferred, id) else { return [false; 2] };
    let same = |own: &Piecewise, other: &Piecewise, or_empty: bool| {
        let [other] = &other.pieces[..] else { return false };
        let own = own.pieces.iter().map(|piece| &piece.polynomial);
        let mut own = own.filter(|polynomial| !or_empty || !polynomial.is_zero());
        own.next() == Some(&other.polynomial) && own.next().is_none()
    };
    let placed = !layout.padded && same(&layout.index, &dense.index, false);
    [false, true].map(|or_empty| placed && same(&layout.size, &dense.size, or_empty))
}

/// Where the values of a tensor come from.
pub(crate) fn role(role: dastac_stur::Role) -> Role {
    match role {
        dastac_stur::Role::Input => Role::Input,
        dastac_stur::Role::Output(_) => Role::Output,
        dastac_stur::Role::Intermediate(_) => Role::Intermediate,
    }
}

/// The largest of the regions' extents, each of which is the smallest of its bounds; 0 where there is nothing.
fn extent(inferred: &Inferred, extent: &Extent) -> Result<Index, Error> {
    let mut largest = Index::constant(0);
    for bounds in &extent.regions {
        let bounds: Result<Vec<Index>, LayoutError> =
            bounds.iter().map(|b| affine_to_index(b, &|name| symbol(inferred, name))).collect();
        let smallest = bounds?.into_iter().reduce(Index::min).unwrap_or(Index::constant(0));
        largest = largest.max(smallest);
    }
    Ok(largest)
}

/// A polynomial over its denominator, with absolute values.
fn magnitude(
    inferred: &Inferred,
    layout: &Layout,
    polynomial: &Polynomial,
) -> Result<Magnitude, Error> {
    let denominator = polynomial.denominator();
    let mut terms = Vec::new();
    for (monomial, coefficient) in polynomial.terms() {
        let scale = denominator / coefficient.denom();
        let factor = coefficient.numer().unsigned_abs().saturating_mul(scale.unsigned_abs());
        let powers =
            monomial.iter().map(|(one, exponent)| Ok((atom(inferred, layout, one)?, *exponent)));
        let powers: Result<Vec<(Atom, u32)>, Error> = powers.collect();
        terms.push(Monomial { factor: u64::try_from(factor).unwrap_or(u64::MAX), powers: powers? });
    }
    Ok(Magnitude { terms })
}

fn atom(inferred: &Inferred, layout: &Layout, atom: &SetAtom) -> Result<Atom, Error> {
    match atom {
        SetAtom::Name(name) => match layout.dims.iter().position(|dim| dim == name) {
            Some(dimension) => Ok(Atom::Subscript(dimension)),
            None => {
                let value = symbol(inferred, name);
                Ok(Atom::Symbols(value.ok_or_else(|| LayoutError::Unbound(name.clone()))?))
            }
        },
        SetAtom::Floor(inner, _) => sum(inferred, layout, inner),
    }
}

fn sum(inferred: &Inferred, layout: &Layout, affine: &Affine) -> Result<Atom, Error> {
    let terms = affine
        .terms
        .iter()
        .map(|(one, coefficient)| Ok((atom(inferred, layout, one)?, coefficient.unsigned_abs())));
    Ok(Atom::Sum(affine.constant.unsigned_abs(), terms.collect::<Result<_, Error>>()?))
}

/// The loops of a statement, and what is computed at their points.
fn computed(inferred: &Inferred, statement: &Statement) -> Result<Computed, Error> {
    let names = statement.loops();
    let to_loops = inferred.sets.access(&statement.iterators, &Affine::each(&names));
    let to_loops = to_loops.map_err(dastac_stur::infer::InferError::from)?;
    let points = statement.domain.apply(&to_loops)?;
    let mut loops = Vec::new();
    for k in 0..names.len() {
        let low = bounds(inferred, &points.dim_min(k)?)?;
        let high = bounds(inferred, &points.dim_max(k)?)?;
        loops.push(Range { low, high });
    }
    let definitions = statement.definitions.iter();
    let variables: Vec<&String> =
        names.iter().chain(definitions.map(|one| &one.iterator)).collect();
    let expression = |expr: &Expr| -> Result<Expression, Error> {
        let resolve = |name: &str| match variables.iter().position(|known| *known == name) {
            Some(place) => Some(Index::Var(VarId(u32::try_from(place).ok()?))),
            None => symbol(inferred, name),
        };
        let value = expr_to_index(expr, &resolve)?;
        Ok(Expression { value, text: expr.to_string(), span: (expr.span.start, expr.span.end) })
    };
    let definitions = statement.definitions.iter().map(|one| expression(&one.value));
    let compared = statement.guards.iter().flat_map(|guard| [&guard.left, &guard.right]);
    Ok(Computed {
        loops,
        definitions: definitions.collect::<Result<_, _>>()?,
        compared: compared.map(expression).collect::<Result<_, _>>()?,
    })
}

/// The values that an extreme of a loop may have, wherever each of them holds.
fn bounds(inferred: &Inferred, extreme: &PwAff) -> Result<Vec<Index>, Error> {
    let pieces = extreme.pieces()?;
    pieces.into_iter().map(|(_, value)| linear(inferred, &value.expr()?)).collect()
}

fn linear(inferred: &Inferred, expr: &LinearExpr) -> Result<Index, Error> {
    let mut sum = Index::constant(expr.constant);
    for (name, coefficient) in &expr.params {
        let value = symbol(inferred, name);
        sum = sum + value.ok_or_else(|| LayoutError::Unbound(name.clone()))? * *coefficient;
    }
    for (coefficient, floor) in &expr.floors {
        let quotient = linear(inferred, &floor.numerator)?.floor_div(floor.denominator);
        sum = sum + quotient * *coefficient;
    }
    Ok(if expr.denominator == 1 { sum } else { sum.floor_div(expr.denominator) })
}

/// A program with its loops, and the sizes that its code is for.
///
/// # Errors
/// As [`sizes`].
pub(crate) fn program(built: &Built) -> Result<Program, Error> {
    let lowered = &built.lowered;
    let kernel = &lowered.kernel;
    let phases = kernel.phases.iter().map(|phase| Phase {
        name: phase.name.clone(),
        preprocess: phase.preprocess,
        counts: phase.counts.map(id),
        bounds: phase.bounds,
        converts: phase.converts.iter().copied().map(id).collect(),
    });
    let results = kernel.results.iter().map(|one| Assembled {
        tensor: id(one.tensor),
        structure: match &one.structure {
            Structure::Dense => Assembly::Dense,
            Structure::Copied { .. } => Assembly::Copied,
            Structure::Converted { from, dimensions } => Assembly::Converted {
                from: TensorId(from.0 as usize),
                dimensions: dimensions.clone(),
            },
            Structure::Counted { starts, ends } => {
                Assembly::Counted { starts: starts.clone(), ends: *ends }
            }
        },
    });
    let mut sizes = sizes(&lowered.laid)?;
    sizes.keys = keys(lowered, &sizes);
    sizes.only.clone_from(&built.options.sizes);
    let program = &lowered.laid.analysis.inferred.program;
    Ok(Program {
        sizes,
        phases: phases.collect(),
        stored: kernel.stored.iter().map(|one| stored(one, program)).collect(),
        results: results.collect(),
        wide: lowered.indices == Indices::Wide,
    })
}

/// The keys of all workspaces that have several levels of a result.
fn keys(lowered: &Lowered, sizes: &Sizes) -> Vec<Keys> {
    let several = lowered.kernel.walked.iter().filter_map(|walked| {
        let gathers = walked.kernel.gathers.as_ref()?;
        let inside = gathers.coordinates.get(gathers.levels..).filter(|all| all.len() > 1)?;
        Some((walked, inside))
    });
    let names = &lowered.kernel.module.symbols;
    let of = |(walked, inside): (&dastac_sched::Walked, &[Index])| {
        let kernel = &walked.kernel;
        let used = |at: &usize| {
            let var = VarId(*at as u32);
            inside.iter().any(|coordinate| coordinate.mentions(var))
        };
        let iterators = kernel.head.iter().copied().filter(used).map(|at| &kernel.iterators[at]);
        let pairs = iterators.map(|(name, extent)| {
            // The code has symbols of its own for what the program derives.
            let own = extent.rebuild(&|leaf| match leaf {
                Index::Symbol(at) => names
                    .get(at.0 as usize)
                    .and_then(|name| symbol(lowered.inferred(), name))
                    .unwrap_or_else(|| leaf.clone()),
                leaf => leaf.clone(),
            });
            (name.clone(), own)
        });
        let (iterators, extents) = pairs.unzip();
        Keys { tensor: sizes.tensors[walked.head.0].name.clone(), iterators, extents }
    };
    several.map(of).collect()
}

fn stored(one: &dastac_sched::Stored, program: &dastac_stur::Program) -> Stored {
    let hybrid = program.tensor(one.tensor).format.as_ref().and_then(|own| own.hybrid.as_ref());
    let part = one.part.zip(hybrid);
    let counts = one.operand.counts().map(|(level, symbol)| LevelCount { level, symbol });
    Stored {
        tensor: id(one.tensor),
        format: one.operand.format.clone(),
        levels: one.operand.levels.iter().map(|level| level.arrays.clone()).collect(),
        counts: counts.collect(),
        values: one.operand.values,
        converted_for: one.converted_for.map(id),
        part: part.map(|(number, hybrid)| Part { hybrid: hybrid.to_string(), number }),
    }
}

/// The names of the functions that move tensors.
pub(crate) fn moves(functions: Vec<(String, String, Option<String>)>) -> Vec<Moves> {
    functions.into_iter().map(|(pack, unpack, expand)| Moves { pack, unpack, expand }).collect()
}

#[cfg(test)]
mod tests {
    use crate::Error;
    use crate::driver::{Analysis, Laid};
    use crate::run::facts;

    fn laid(text: &str) -> Laid {
        Analysis::of(text).unwrap().lay_out().unwrap()
    }

    #[test]
    fn sizes_at_which_expressions_may_overflow() {
        for (condition, fits, refused) in [
            ("(i * i * i < M)", 2_000_000, 3_000_000),
            ("(M * i - i * (i + 1) / 2 < i * N)", 1 << 31, 1 << 32),
            ("(s = i * N * N)", 1 << 20, 1 << 21),
            ("(i / M = 3 * N)", 1 << 61, 1 << 62),
        ] {
            let text = format!(
                "symbols: N, M\ny(i) := x(i) * {condition}{}\nx:D(i) := (0 <= i < N)\nz:D(s) := (0 <= s < M)",
                if condition.contains("s =") { " * z(s)" } else { "" }
            );
            let laid = laid(&text);
            // A divisor of 0 has an error of its own.
            for (size, expected) in [(1, true), (fits, true), (refused, false)] {
                match facts(&laid, &[size, size]) {
                    Err(Error::Program(found)) => {
                        assert!(!expected, "{condition} at {size}: {found:?}");
                        assert_eq!(found[0].code, "E0310");
                    }
                    Err(Error::Runtime(_)) if size > 1 << 60 => {}
                    found => assert!(expected, "{condition} at {size}: {found:?}"),
                }
            }
        }
    }

    #[test]
    fn positions_that_may_overflow() {
        let triangle = laid(
            "symbols: N\ny(i) := A(i, j) * x(j)\nA:D(i, j) := (0 <= i < N) * (0 <= j <= i)\nx:D(j) := (0 <= j < N)",
        );
        let found = facts(&triangle, &[1000]).unwrap();
        assert_eq!((found[1].unique, &found[1].shape[..]), (500_500, &[1000, 1000][..]));
        assert_eq!(facts(&triangle, &[0]).unwrap()[1].unique, 0);
        assert!(facts(&triangle, &[1 << 30]).is_ok());
        let refused = facts(&triangle, &[1 << 32]).unwrap_err();
        assert!(matches!(refused, Error::Runtime(dastac_runtime::Error::Overflow { .. })));
    }
}
