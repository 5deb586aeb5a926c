//! MKL and OpenBLAS on dense boxes: a rule with one product of two tensors as matrix products, whatever its operands'
//! structures are, or as the routine for a triangle or an update where that is faster.

use std::time::{Duration, Instant};

use dastac_driver::run::Runner;
use dastac_elements::Storage;
use dastac_stur::Program;
use dastac_stur::ast::{Expr, ExprKind};
use dastac_stur::program::{Access, Element, Product, TensorId};

use super::blas::library;
use super::request::{Ready, Request};
use crate::Error;
use crate::bindings::blas::Blas;
use crate::system::System;

/// Dense boxes may have so many elements together.
const MOST_ELEMENTS: u128 = 1 << 28;

/// Dense products may have so many multiply-adds.
const MOST_WORK: u128 = 40_000_000_000;

const NO_ROUTINE: &str = "no routine of a library computes it";

/// A product of two tensors as matrix products: for each point of `loops`, `C = A B` with rows `m`, columns `n`, and
/// the sum over `k`.
#[derive(Clone, Debug, PartialEq)]
struct Plan {
    tensors: [TensorId; 2],
    orders: [Vec<String>; 3],
    loops: Vec<String>,
    groups: [Vec<String>; 3],
    /// Whether `A` and `B` are stored transposed.
    transposed: [bool; 2],
    /// Whether the exchanged product is added: an update of rank 2k.
    twice: bool,
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Routine {
    Dot,
    Gemv,
    Gemm,
    /// Of the lower triangle, if so said.
    Trmm(bool),
    Syrk,
    Syr2k,
}

pub(super) fn system(Request { name, job, laid, shared }: Request<'_>) -> Ready {
    let program = laid.program();
    let plan = Plan::of(program).ok_or(NO_ROUTINE)?;
    let rule = &program.rules[0];
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let shape = |id: TensorId| shared.shape(id).map_err(|error| text(&error));
    let shapes = [shape(plan.tensors[0])?, shape(plan.tensors[1])?, shape(rule.head)?];
    let elements = shapes.iter().map(|shape| shape.iter().map(|n| *n as u128).product::<u128>());
    let elements: u128 = elements.sum();
    if elements > MOST_ELEMENTS {
        return Err(format!("its dense boxes take {}", dastac_driver::human(elements * 8)));
    }
    let mut extents: Vec<(String, usize)> = Vec::new();
    for (order, shape) in plan.orders.iter().zip(&shapes) {
        let new = order.iter().cloned().zip(shape.iter().copied());
        let known: Vec<String> = extents.iter().map(|(name, _)| name.clone()).collect();
        extents.extend(new.filter(|(name, _)| !known.contains(name)));
    }
    if extents.iter().map(|(_, n)| *n as u128).product::<u128>() > MOST_WORK {
        return Err("its dense product takes too long".into());
    }
    // Boxes are as large as the tensors' own: an iterator over two extents has no matrix product.
    for (order, shape) in plan.orders.iter().zip(&shapes) {
        let same = |(name, n): (&String, &usize)| extents.contains(&(name.clone(), *n));
        if !order.iter().zip(shape).all(same) {
            return Err(NO_ROUTINE.into());
        }
    }
    let blas = library(name, job)?;
    let box_of = |shared: &mut Runner, id| shared.unpacked(id).map_err(|error| error.to_string());
    let operands = [box_of(shared, plan.tensors[0])?, box_of(shared, plan.tensors[1])?];
    let length = shapes[2].iter().product();
    let result = Storage::zeroed(Element::F64, length).map_err(|error| text(&error))?;
    let routines = plan.routines(&operands, &extents, &blas);
    let output = rule.head;
    let first = *routines.first().ok_or(NO_ROUTINE)?;
    let mut dense =
        Dense { name: name.into(), blas, plan, extents, operands, result, output, routine: first };
    let mut best = Duration::MAX;
    if routines.len() > 1 {
        for routine in routines {
            let chosen = std::mem::replace(&mut dense.routine, routine);
            let times = (0..4).map(|_| dense.run(shared));
            let times: Result<Vec<Duration>, Error> = times.collect();
            let time = times.map_err(|error| text(&error))?.into_iter().min();
            match time.filter(|time| *time < best) {
                Some(time) => best = time,
                None => dense.routine = chosen,
            }
        }
    }
    Ok(Box::new(dense))
}

/// The iterators of an access, if they are nothing but distinct iterators.
fn order(access: &Access) -> Option<Vec<String>> {
    let plain = !access.reciprocal && access.position.is_none() && !access.argument;
    let names = access.subscripts.iter().map(|subscript| match &subscript.kind {
        ExprKind::Name(name) => Some(name.clone()),
        _ => None,
    });
    let names: Vec<String> = names.collect::<Option<_>>()?;
    let distinct = names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
    (plain && distinct).then_some(names)
}

fn mentions(expression: &Expr, names: &[String]) -> bool {
    match &expression.kind {
        ExprKind::Int(_) => false,
        ExprKind::Name(name) => names.contains(name),
        ExprKind::Neg(of) => mentions(of, names),
        ExprKind::Binary(_, one, other) => mentions(one, names) || mentions(other, names),
    }
}

impl Plan {
    /// How matrix products compute a program of one rule.
    fn of(program: &Program) -> Option<Plan> {
        let [rule] = &program.rules[..] else { return None };
        let doubles = program.tensors.iter().all(|tensor| tensor.element == Element::F64);
        let packed = program.tensors.iter().all(|tensor| tensor.format.is_none());
        let plain = |product: &Product| {
            product.coefficient == 1.0
                && product.symbols.is_empty()
                && product.functions.is_empty()
                && product.accesses.len() == 2
        };
        if !doubles || !packed || !rule.products.iter().all(plain) {
            return None;
        }
        let tensors = |product: &Product| [product.accesses[0].tensor, product.accesses[1].tensor];
        let orders =
            |product: &Product| Some([order(&product.accesses[0])?, order(&product.accesses[1])?]);
        let (product, twice) = match &rule.products[..] {
            [product] => (product, false),
            [product, other] => {
                let ([a, b], [c, d]) = (tensors(product), tensors(other));
                let ([p, q], [r, s]) = (orders(product)?, orders(other)?);
                let exchanged = (a == d && b == c && p == r && q == s)
                    || (a == c && b == d && p == s && q == r);
                if !exchanged {
                    return None;
                }
                (product, true)
            }
            _ => return None,
        };
        let [a, b] = orders(product)?;
        let reductions: Vec<String> =
            a.iter().chain(&b).filter(|name| !rule.iterators.contains(name)).cloned().collect();
        // What holds of the head alone only chooses which elements of the result are needed.
        let inside = product.comparisons.iter().flat_map(|comparison| &comparison.operands);
        if inside.into_iter().any(|operand| mentions(operand, &reductions)) {
            return None;
        }
        let all = [a, b, rule.iterators.clone()];
        let common = |name: &&String| all.iter().all(|order| order.contains(name));
        let batch: Vec<String> = all[2].iter().filter(common).cloned().collect();
        // Leading positions of the result are gone through one by one, if there is no other way.
        let peeled = (0..=all[2].len()).find_map(|count| {
            let mut loops = batch.clone();
            loops.extend(all[2][..count].iter().filter(|name| !batch.contains(name)).cloned());
            Plan::with(tensors(product), &all, loops)
        })?;
        let simple = peeled.loops.is_empty() && peeled.orders[2].len() == 2;
        (!twice || simple).then_some(Plan { twice, ..peeled })
    }

    /// As matrix products for each point of these loops, if what is left has the order of matrices.
    fn with(tensors: [TensorId; 2], orders: &[Vec<String>; 3], loops: Vec<String>) -> Option<Plan> {
        let mut rest: Vec<Vec<String>> = Vec::new();
        for order in orders {
            let own = order.iter().filter(|name| loops.contains(name)).count();
            if !order[..own].iter().all(|name| loops.contains(name)) {
                return None;
            }
            rest.push(order[own..].to_vec());
        }
        let [mut a, mut b, c] = [rest[0].clone(), rest[1].clone(), rest[2].clone()];
        let both = |one: &[String], other: &[String]| -> Vec<String> {
            one.iter().filter(|name| other.contains(name)).cloned().collect()
        };
        let (mut m, mut n, k) = (both(&c, &a), both(&c, &b), both(&a, &b));
        let (mut tensors, mut orders) = (tensors, orders.clone());
        if c != [&m[..], &n[..]].concat() {
            std::mem::swap(&mut a, &mut b);
            std::mem::swap(&mut m, &mut n);
            tensors.swap(0, 1);
            orders.swap(0, 1);
        }
        let is =
            |order: &[String], one: &[String], other: &[String]| order == [one, other].concat();
        let form = |order: &[String], rows: &[String], columns: &[String]| {
            let plain = is(order, rows, columns);
            (plain || is(order, columns, rows)).then_some(!plain)
        };
        let transposed = [form(&a, &m, &k)?, form(&b, &k, &n)?];
        let fits = is(&c, &m, &n);
        let groups = [m, n, k];
        fits.then_some(Plan { tensors, orders, loops, groups, transposed, twice: false })
    }

    /// The product of the extents of some iterators.
    fn size(extents: &[(String, usize)], names: &[String]) -> usize {
        let own = extents.iter().filter(|(name, _)| names.contains(name));
        own.map(|(_, n)| *n).product()
    }

    fn sizes(&self, extents: &[(String, usize)]) -> [usize; 3] {
        self.groups.each_ref().map(|group| Plan::size(extents, group))
    }

    /// Routines that compute it.
    fn routines(
        &self,
        operands: &[Storage; 2],
        extents: &[(String, usize)],
        blas: &Blas,
    ) -> Vec<Routine> {
        let [rows, columns, _] = self.groups.each_ref().map(Vec::is_empty);
        let opposite = self.transposed[0] != self.transposed[1];
        if self.twice {
            let there = blas.dense.is_some() && opposite && !rows && !columns;
            return if there { vec![Routine::Syr2k] } else { Vec::new() };
        }
        if rows && columns {
            return vec![Routine::Dot];
        }
        if rows || columns {
            return vec![Routine::Gemv];
        }
        let mut routines = vec![Routine::Gemm];
        let single = self.loops.is_empty();
        if single && self.tensors[0] == self.tensors[1] && opposite {
            routines.push(Routine::Syrk);
        }
        let [m, _, k] = self.sizes(extents);
        if single && m == k && !self.transposed[1] && blas.dense.is_some() {
            let a: &[f64] = operands[0].typed();
            // Which triangle of the box is zero tells the other one.
            let zero = |above: bool| {
                let row = |i: usize| match above {
                    true => &a[i * m + i + 1..(i + 1) * m],
                    false => &a[i * m..i * m + i],
                };
                (0..m).all(|i| row(i).iter().all(|value| *value == 0.0))
            };
            routines
                .extend([true, false].into_iter().filter(|lower| zero(*lower)).map(Routine::Trmm));
        }
        routines
    }
}

struct Dense {
    name: String,
    blas: Blas,
    plan: Plan,
    extents: Vec<(String, usize)>,
    operands: [Storage; 2],
    result: Storage,
    output: TensorId,
    routine: Routine,
}

impl Dense {
    /// Where the matrices of each tensor begin, for all points of the loops.
    fn starts(&self) -> Vec<[usize; 3]> {
        let of = |name: &String| Plan::size(&self.extents, std::slice::from_ref(name));
        let strides = |order: &[String], name: &String| {
            let at = order.iter().position(|known| known == name)?;
            Some(order[at + 1..].iter().map(of).product::<usize>())
        };
        let mut starts = vec![[0; 3]];
        for name in &self.plan.loops {
            let strides =
                self.plan.orders.each_ref().map(|order| strides(order, name).unwrap_or(0));
            let next = starts.iter().flat_map(|start| {
                (0..of(name)).map(move |at| [0, 1, 2].map(|t| start[t] + at * strides[t]))
            });
            starts = next.collect();
        }
        starts
    }

    fn compute(&mut self) -> Result<(), crate::bindings::blas::Error> {
        let starts = self.starts();
        let [m, n, k] = self.plan.sizes(&self.extents);
        let [ta, tb] = self.plan.transposed;
        let (a, b): (&[f64], &[f64]) = (self.operands[0].typed(), self.operands[1].typed());
        let Some(c) = self.result.as_mut_slice::<f64>() else { return Ok(()) };
        let f64 = &self.blas.f64;
        for [from_a, from_b, to] in starts {
            let (a, b, c) = (&a[from_a..], &b[from_b..], &mut c[to..]);
            match (self.routine, &self.blas.dense) {
                (Routine::Dot, _) => c[0] = f64.dot(&a[..k], &b[..k])?,
                (Routine::Gemv, _) if self.plan.groups[1].is_empty() => {
                    f64.gemv(if ta { [k, m] } else { [m, k] }, (a, ta), b, c)?;
                }
                (Routine::Gemv, _) => f64.gemv(if tb { [n, k] } else { [k, n] }, (b, !tb), a, c)?,
                (Routine::Gemm, _) => f64.gemm([m, n, k], (a, ta), (b, tb), c)?,
                (Routine::Syrk, _) => f64.syrk([n, k], (a, !ta), c)?,
                (Routine::Trmm(lower), Some(dense)) => {
                    c[..m * n].copy_from_slice(&b[..m * n]);
                    dense.trmm([m, n], (a, lower, ta), c)?;
                }
                (Routine::Syr2k, Some(dense)) => dense.syr2k([n, k], (a, b, ta), c)?,
                (Routine::Trmm(_) | Routine::Syr2k, None) => {}
            }
        }
        Ok(())
    }
}

impl System for Dense {
    fn name(&self) -> &str {
        &self.name
    }

    fn detail(&self) -> String {
        let routine = match self.routine {
            Routine::Dot => "dot",
            Routine::Gemv => "gemv",
            Routine::Gemm => "gemm",
            Routine::Trmm(_) => "trmm",
            Routine::Syrk => "syrk",
            Routine::Syr2k => "syr2k",
        };
        format!("{routine} on dense boxes ({})", self.blas.version)
    }

    fn run(&mut self, _shared: &mut Runner) -> Result<Duration, Error> {
        let start = Instant::now();
        self.compute()?;
        Ok(start.elapsed())
    }

    fn forget(&mut self, _shared: &mut Runner) {
        self.result.fill(|_| f64::NAN);
    }

    fn result(&mut self, shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
        if tensor != self.output {
            let name = shared.facts()[tensor.0].name.clone();
            return Err(dastac_driver::Error::UnknownTensor(name).into());
        }
        Ok(shared.pack(tensor, self.result.view())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows, columns and sums of a rule, and how its operands are stored.
    fn plan(rule: &str) -> String {
        let bound = |t: &str, names: &str| {
            let bounds: Vec<String> =
                names.split(", ").map(|name| format!("(0 <= {name} < 9)")).collect();
            format!("{t}:D({names}) := {}\n", bounds.join(" * "))
        };
        let subscripts = |t: &str| {
            let from = rule.find(&format!("{t}(")).unwrap() + 2;
            rule[from..from + rule[from..].find(')').unwrap()].to_string()
        };
        let tensors = ["A", "B"].into_iter().filter(|t| rule.contains(&format!("{t}(")));
        let declared: String = tensors.map(|t| bound(t, &subscripts(t))).collect();
        let (program, _) = dastac_stur::load(&format!("{rule}\n{declared}")).unwrap();
        let Some(plan) = Plan::of(&program) else { return "none".into() };
        let [m, n, k] = plan.groups.map(|group| group.join(""));
        let [a, b] = plan.transposed.map(|transposed| if transposed { "'" } else { "" });
        format!("[{}] {m}{a} {k} {n}{b}", plan.loops.join(""))
    }

    #[test]
    fn products_of_two_tensors_are_matrix_products() {
        for (rule, expected) in [
            ("C(i, j) := A(i, k) * B(k, j)", "[] i k j"),
            ("C(i, j) := A(k, i) * B(j, k)", "[] i' k j'"),
            ("C(j, i) := A(i, k) * B(k, j)", "[] j' k i'"),
            ("C(h, i, d) := A(h, i, j) * B(h, j, d)", "[h] i j d"),
            ("C(i, j, m) := A(i, j, k) * B(k, m)", "[] ij k m"),
            ("C(i, j, m) := A(i, k, j) * B(k, m)", "[i] j' k m"),
            ("y(i) := A(i, j) * B(j)", "[] i j "),
            ("s() := A(i, j) * B(i, j)", "[]  ij "),
            ("s() := A(i, j) * B(j, i)", "none"),
            ("C(i, j) := A(i, k) * B(k, j) * (j <= i)", "[] i k j"),
            ("C(i, j) := A(i, k) * B(k, j) * (k <= i)", "none"),
            ("C(i, j) := A(i, k) * B(j, k) + B(i, k) * A(j, k)", "[] i k j'"),
            ("C(i, j) := A(i, k) * A(j, k)", "[] i k j'"),
        ] {
            assert_eq!(plan(rule), expected, "{rule}");
        }
    }
}
