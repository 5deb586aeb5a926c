//! The elements of a packed tensor whose dense array does not fit memory, read from its buffer.
//!
//! Where elements stand, and which others are multiples of them, is known to the loops that unpack the tensor: these
//! are followed here, without the dense array that they would write. What they set to a constant is structurally zero.

use dastac_elements::{Number, View};
use dastac_loops::eval::{Env, EvalError, eval_range};
use dastac_loops::{BufferId, For, If, Index, Stmt, Store, StoreMode, Value, VarId};
use dastac_runtime::{TensorFacts, unflatten};
use dastac_sched::Movement;
use dastac_stur::program::TensorId;
use dastac_stur::reference::Entries;

use super::entries::storage;

/// Dense arrays of fewer elements are read as they are.
const MIN_CELLS: u128 = 1 << 26;
/// So are those of which more than one in so many elements is stored.
const MIN_SPARSITY: u128 = 64;

/// Whether a tensor is checked by what its packed buffer holds, since its dense array is large and nearly empty.
pub fn is_nearly_empty(fact: &TensorFacts) -> bool {
    let stored = u128::try_from(fact.unique).unwrap_or(0);
    fact.format.is_none()
        && fact.cells() >= MIN_CELLS
        && stored.saturating_mul(MIN_SPARSITY) <= fact.cells()
}

/// Why elements are not listed.
pub(super) enum Unlisted {
    /// There are more than were allowed.
    TooMany,
    /// The loops do something else than to copy multiples of elements.
    Other,
}

impl From<EvalError> for Unlisted {
    fn from(_: EvalError) -> Unlisted {
        Unlisted::Other
    }
}

/// What the loops of a function unpack.
struct Follow<'f> {
    symbols: &'f [i64],
    packed: View<'f>,
    buffer: BufferId,
    vars: Vec<Option<i64>>,
    /// Places in the dense array, with their values.
    found: Vec<(i64, Number)>,
    most: usize,
}

/// The elements of a tensor that its unpacking function copies, at most so many.
pub(super) fn listed(
    movement: &Movement,
    tensor: TensorId,
    (symbols, packed): (&[i64], View<'_>),
    shape: &[usize],
    most: usize,
) -> Result<Entries, Unlisted> {
    let (_, name, _) = movement.functions.get(tensor.0).ok_or(Unlisted::Other)?;
    let function = movement.module.functions.iter().find(|one| one.name == *name);
    let function = function.ok_or(Unlisted::Other)?;
    let mut follow = Follow {
        symbols,
        packed,
        buffer: BufferId(tensor.0 as u32),
        vars: vec![None; function.vars.len()],
        found: Vec::new(),
        most,
    };
    follow.block(&copying(&function.body))?;
    // Later copies overwrite earlier ones.
    let mut found = follow.found;
    found.sort_by_key(|(at, _)| *at);
    found.reverse();
    found.dedup_by_key(|(at, _)| *at);
    found.reverse();
    let mut coordinates = Vec::with_capacity(found.len() * shape.len());
    for (at, _) in &found {
        let at = usize::try_from(*at).map_err(|_| Unlisted::Other)?;
        coordinates.extend(unflatten(at, shape).into_iter().map(|at| at as i64));
    }
    let values = storage(packed.element(), found.into_iter().map(|(_, value)| value));
    Ok(Entries { shape: shape.to_vec(), coordinates, values })
}

impl Follow<'_> {
    fn block(&mut self, body: &[Stmt]) -> Result<(), Unlisted> {
        body.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), Unlisted> {
        match stmt {
            Stmt::For(For { var, lower, upper, step, body, .. }) => {
                let range = eval_range(lower, upper, &Env::new(self.symbols, &self.known()))?;
                let step = usize::try_from(*step).map_err(|_| Unlisted::Other)?;
                for at in range.step_by(step) {
                    *self.vars.get_mut(var.0 as usize).ok_or(Unlisted::Other)? = Some(at);
                    self.block(body)?;
                }
                Ok(())
            }
            Stmt::If(If { condition, then, otherwise }) => {
                let holds = condition.eval_in(&Env::new(self.symbols, &self.known()))?;
                self.block(if holds { then } else { otherwise })
            }
            Stmt::Store(Store { index, value, mode: StoreMode::Set, .. }) => {
                if self.found.len() >= self.most {
                    return Err(Unlisted::TooMany);
                }
                let (at, factor) = self.multiple(value)?;
                let value = self.packed.get(at).ok_or(Unlisted::Other)?.number();
                let place = self.index(index)?;
                self.found.push((place, times(value, factor)));
                Ok(())
            }
            _ => Err(Unlisted::Other),
        }
    }

    /// The place in the packed buffer of which a value is a multiple, and by how much.
    fn multiple(&self, value: &Value) -> Result<(usize, f64), Unlisted> {
        match value {
            Value::Load(buffer, index) if *buffer == self.buffer => {
                Ok((usize::try_from(self.index(index)?).map_err(|_| Unlisted::Other)?, 1.0))
            }
            Value::Mul(left, right) => {
                let (element, factor) =
                    if copies_value(left) { (left, right) } else { (right, left) };
                let (at, by) = self.multiple(element)?;
                Ok((at, by * self.number(factor)?))
            }
            _ => Err(Unlisted::Other),
        }
    }

    fn number(&self, value: &Value) -> Result<f64, Unlisted> {
        match value {
            Value::Const(value) => Ok(*value),
            Value::FromIndex(index) => Ok(self.index(index)? as f64),
            Value::Mul(left, right) => Ok(self.number(left)? * self.number(right)?),
            Value::Div(left, right) => Ok(self.number(left)? / self.number(right)?),
            _ => Err(Unlisted::Other),
        }
    }

    fn index(&self, index: &Index) -> Result<i64, Unlisted> {
        Ok(index.eval(self.symbols, &self.known())?)
    }

    fn known(&self) -> impl Fn(VarId) -> Option<i64> {
        |var| self.vars.get(var.0 as usize).copied().flatten()
    }
}

/// Statements without those that only set constants.
fn copying(body: &[Stmt]) -> Vec<Stmt> {
    let copies = |stmt: &Stmt| match stmt {
        Stmt::Store(store) => copies_value(&store.value).then(|| stmt.clone()),
        Stmt::For(inner) => {
            let body = copying(&inner.body);
            (!body.is_empty()).then(|| Stmt::For(For { body, ..inner.clone() }))
        }
        Stmt::If(inner) => {
            let (then, otherwise) = (copying(&inner.then), copying(&inner.otherwise));
            let condition = inner.condition.clone();
            let some = !then.is_empty() || !otherwise.is_empty();
            some.then_some(Stmt::If(If { condition, then, otherwise }))
        }
        other => Some(other.clone()),
    };
    body.iter().filter_map(copies).collect()
}

fn copies_value(value: &Value) -> bool {
    let mut loads = false;
    value.visit(&mut |part| loads |= matches!(part, Value::Load(..)));
    loads
}

fn times(value: Number, factor: f64) -> Number {
    match value {
        value if factor == 1.0 => value,
        Number::Integer(value) => Number::Integer(value.wrapping_mul(factor as i64)),
        Number::Complex(value) => Number::Complex(value * factor),
        other => Number::Float(other.to_f64() * factor),
    }
}
