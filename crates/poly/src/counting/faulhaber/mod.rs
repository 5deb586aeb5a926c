//! The second counter: sums over the integer points of parametric sets in pure Rust, by Faulhaber's formula (section 4
//! of the DASTAC paper asks for the counts; it takes them from Barvinok, which this neither needs nor resembles).
//!
//! isl does the polyhedral part: it makes basic sets disjoint, writes existential dimensions as floors, and removes
//! redundant constraints. Then one variable at a time is summed over:
//!
//! 1. A floor of variables becomes one more variable: it has exactly one value at each point. A floor of parameters is
//!    as good as a parameter.
//! 2. An equality determines a variable. If no variable has the coefficient 1 or -1, Euclid's algorithm on the
//!    variables makes one; a common divisor of them all asks a condition of the parameters, and leaves a floor of them.
//! 3. With bounds `f_1 / a_1, f_2 / a_2, .. <= x <= g_1 / b_1, g_2 / b_2, ..` the rest of the set is split by which of
//!    the lower ones is the largest and which of the upper ones the smallest, as fractions, and the summand becomes its
//!    sum from `ceil(f / a)` to `floor(g / b)` for these. That sum is right wherever `f / a <= g / b`: then
//!    `floor(g / b) >= ceil(f / a) - 1`, and the sum of no summand is 0.
//! 4. What is rounded must depend on parameters only. So other variables are split into residue classes, `y = m z + t`,
//!    each with a summand of its own. The constraints do not know the classes: these multiply summands, never systems
//!    of constraints or pieces of the result.
//!
//! `1` on `{ [i, j] : 0 <= j <= i < N }` -> `i + 1` on `{ [i] : 0 <= i < N }` -> `N (N + 1) / 2` on `N >= 1`
//!
//! Invariants: the points of all systems of one basic set stay disjoint; every step removes a variable, or brings an
//! equality closer to one that does, so it ends; coefficients are 64 bits and numbers of polynomials fractions of 128
//! bits, with overflow an error.

mod columns;
mod form;
mod polynomial;
mod read;
mod rows;

use crate::handle::Handle;
use crate::{Context, Error, QPolynomial, Result, Set, Term};
use columns::Columns;
use form::{Form, fits};
use isl_vendor as sys;
use num_integer::Integer;
use polynomial::{Number, Polynomial};
use rows::Rows;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A part of a sum: a condition on the parameters in isl's notation, and the value under it. Parts may overlap; their
/// values add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The condition, such as `0 + 1*N >= 0`.
    pub(crate) condition: String,
    /// The value.
    pub(crate) value: Vec<Term>,
}

/// The sum of `summand` (1 if there is none) over the points of a set with finitely many for each of the parameters.
/// `budget` is the number of systems of constraints that may be looked at, and is reduced by what was.
///
/// # Errors
/// [`Error::Infinite`], [`Error::Overflow`], [`Error::TooComplex`] when the budget is spent.
pub(crate) fn sum(
    set: &Set,
    summand: Option<&QPolynomial>,
    budget: &mut Budget,
) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for basic in disjoint_basic_sets(set)? {
        let (columns, rows, polynomial) = read::read(set, &basic, summand)?;
        let variables = columns.variables().collect();
        let context = set.context();
        let mut sums = Sums { context, columns, budget: &mut *budget, leaves: BTreeMap::new() };
        let classes = BTreeMap::from([(Vec::new(), polynomial)]);
        let summands = Summands { moduli: BTreeMap::new(), classes };
        sums.eliminate(rows, summands, variables)?;
        let Sums { columns, leaves, .. } = sums;
        parts.extend(leaves.iter().filter(|(_, value)| !value.is_zero()).map(|(rows, value)| {
            let condition = |form: &Form, relation| columns.form_text(form) + relation;
            let conditions = rows.equalities.iter().map(|form| condition(form, " = 0"));
            let conditions = conditions
                .chain(rows.inequalities.iter().map(|form| condition(form, " >= 0")))
                .collect::<Vec<_>>()
                .join(" and ");
            Part { condition: conditions, value: columns.terms(value) }
        }));
    }
    Ok(parts)
}

/// Whether a set is one basic set without floors, all of whose constraints have the coefficients 1, 0 and -1 on
/// variables: what this counter is faster on than any other.
pub(crate) fn is_easy(set: &Set) -> Result<bool> {
    let (context, rank) = (set.context(), set.rank());
    let basics = basic_sets(set)?;
    let [basic] = &basics[..] else { return Ok(basics.is_empty()) };
    if isl!(context, isl_basic_set_dim(basic.keep(), sys::isl_dim_div))? > 0 {
        return Ok(false);
    }
    let (equalities, inequalities) = rows::elements(basic)?;
    let mut variables = equalities.iter().chain(&inequalities).flat_map(|row| &row[..rank]);
    Ok(variables.all(|coefficient| coefficient.unsigned_abs() <= 1))
}

/// How many systems of constraints and residue classes may still be looked at, and until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    left: u64,
    limit: u64,
    time: Option<(Instant, Duration)>,
}

impl Budget {
    pub(crate) fn new(limit: u64, time: Option<Duration>) -> Budget {
        Budget { left: limit, limit, time: time.map(|time| (Instant::now(), time)) }
    }

    /// Takes steps from the budget, or fails if it is spent.
    pub(crate) fn spend(&mut self, steps: u64) -> Result<()> {
        if let Some((_, time)) = self.time.filter(|(start, time)| start.elapsed() > *time) {
            return Err(Error::TooSlow { seconds: time.as_secs() });
        }
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::TooComplex { operation: "Faulhaber summation", limit: self.limit }),
        }
    }
}

fn basic_sets(set: &Set) -> Result<Vec<Handle<sys::isl_basic_set>>> {
    let context = set.context();
    let list = isl!(context, isl_set_get_basic_set_list(set.0.keep()))?;
    (0..isl!(context, isl_basic_set_list_size(list.keep()))?)
        .map(|pos| isl!(context, isl_basic_set_list_get_at(list.keep(), pos)))
        .collect()
}

fn disjoint_basic_sets(set: &Set) -> Result<Vec<Handle<sys::isl_basic_set>>> {
    let found = basic_sets(&set.compute_divs()?)?;
    if found.len() <= 1 {
        return Ok(found);
    }
    // Making basic sets disjoint can bring existential dimensions back.
    basic_sets(&set.compute_divs()?.coalesce()?.make_disjoint()?.compute_divs()?)
}

/// The state of counting one basic set.
struct Sums<'a> {
    context: &'a Context,
    columns: Columns,
    budget: &'a mut Budget,
    /// Conditions on the parameters, and the value that is added where they hold.
    leaves: BTreeMap<Rows, Polynomial>,
}

/// The summand, by residue classes of the variables.
#[derive(Clone, Debug)]
struct Summands {
    /// The moduli of the variables; 1 for those that are not here.
    moduli: BTreeMap<usize, i64>,
    /// The residues of the variables that have a modulus, in their order, and the summand of that class. Other classes
    /// have the summand 0.
    classes: BTreeMap<Vec<i64>, Polynomial>,
}

impl Summands {
    fn modulus(&self, column: usize) -> i64 {
        self.moduli.get(&column).copied().unwrap_or(1)
    }

    /// Replaces a variable without a modulus by a form of such variables.
    fn substitute(&mut self, column: usize, value: &Form) -> Result<()> {
        for summand in self.classes.values_mut() {
            *summand = summand.substitute(column, value)?;
        }
        Ok(())
    }
}

/// A variable and its bounds.
struct Bounds {
    variable: usize,
    lower: Vec<Bound>,
    upper: Vec<Bound>,
    /// The moduli that the other variables need.
    moduli: BTreeMap<usize, i64>,
    /// An estimate of the work.
    cost: u128,
}

/// `coefficient * variable + form >= 0` for a lower bound, `-coefficient * variable + form >= 0` for an upper one.
struct Bound {
    /// Above 0.
    coefficient: i64,
    form: Form,
}

impl Sums<'_> {
    /// Sums over all of `variables`.
    fn eliminate(
        &mut self,
        rows: Rows,
        summands: Summands,
        mut variables: Vec<usize>,
    ) -> Result<()> {
        self.budget.spend(1)?;
        let Some(mut rows) = rows.simplified(self.context)? else { return Ok(()) };
        let mut summands = summands;
        summands.classes.retain(|_, summand| !summand.is_zero());
        if summands.classes.is_empty() {
            return Ok(());
        }
        let mut solved = false;
        while let Some(equality) = self.solvable(&rows, &summands) {
            solved = true;
            if !self.solve(&equality, &mut rows, &mut summands, &mut variables)? {
                return Ok(());
            }
        }
        if solved {
            return self.eliminate(rows, summands, variables);
        }
        let bounds = variables.iter().map(|&variable| self.bounds(&rows, &summands, variable));
        let bounds = bounds.collect::<Result<Vec<_>>>()?;
        match bounds.iter().min_by_key(|bounds| bounds.cost) {
            Some(bounds) => self.sum_over(bounds, &rows, &summands, &variables),
            None => {
                let value = self.leaves.entry(rows).or_default();
                summands.classes.values().try_for_each(|summand| value.add(summand))
            }
        }
    }

    /// An equality that has variables, all of them without a modulus.
    fn solvable(&self, rows: &Rows, summands: &Summands) -> Option<Form> {
        let found = rows.equalities.iter().find(|row| {
            let mut variables = self.columns.variable_part(row).peekable();
            variables.peek().is_some() && variables.all(|(column, _)| summands.modulus(column) == 1)
        });
        found.cloned()
    }

    /// Removes a variable by such an equality, or comes closer to it. False if the equality has no integer solution.
    fn solve(
        &mut self,
        equality: &Form,
        rows: &mut Rows,
        summands: &mut Summands,
        variables: &mut Vec<usize>,
    ) -> Result<bool> {
        let mut equality = equality.clone();
        let part: Vec<(usize, i64)> = self.columns.variable_part(&equality).collect();
        let divisor = part.iter().fold(0, |divisor: i64, (_, c)| divisor.gcd(c));
        if divisor > 1 {
            // divisor * (..) + rest = 0: with q = floor(rest / divisor) it is the condition divisor * q = rest, and
            // (..) + q = 0.
            rows.equalities.retain(|row| *row != equality);
            let mut rest = equality.clone();
            part.iter().for_each(|&(column, _)| rest.set(column, 0));
            let (floor, definition) = self.columns.floor(&rest, divisor)?;
            rows.inequalities.extend(definition);
            rows.equalities.push(rest.plus(&floor, -divisor)?);
            let mut quotient = floor;
            for &(column, coefficient) in &part {
                quotient.set(column, coefficient / divisor);
            }
            equality = quotient;
            rows.equalities.push(equality.clone());
        }
        let part: Vec<(usize, i64)> = self.columns.variable_part(&equality).collect();
        let Some(&(variable, coefficient)) = part.iter().min_by_key(|(_, c)| c.abs()) else {
            return Ok(true);
        };
        if coefficient.abs() == 1 {
            let mut value = equality;
            value.set(variable, 0);
            let value = value.scaled(-coefficient)?;
            *rows = rows.substitute(variable, &value)?;
            summands.substitute(variable, &value)?;
            variables.retain(|&other| other != variable);
            rows.equalities.retain(|row| !row.is_constant() || row.constant != 0);
            return Ok(rows.equalities.iter().all(|row| !row.is_constant()));
        }
        // c x + d y with |c| <= |d| becomes c x' + (d - m c) y by x = x' - m y: a step of Euclid's algorithm.
        let mut value = Form::column(variable);
        for &(column, other) in part.iter().filter(|(column, _)| *column != variable) {
            let quotient = Integer::div_floor(&other, &coefficient);
            value = value.plus(&Form::column(column), fits(-i128::from(quotient))?)?;
        }
        *rows = rows.substitute(variable, &value)?;
        summands.substitute(variable, &value)?;
        Ok(true)
    }

    fn bounds(&self, rows: &Rows, summands: &Summands, variable: usize) -> Result<Bounds> {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        let mut add = |row: &Form| -> Result<()> {
            let coefficient = row.coefficient(variable);
            let mut form = row.clone();
            form.set(variable, 0);
            let bound = Bound { coefficient: fits(i128::from(coefficient).abs())?, form };
            match coefficient.signum() {
                0 => {}
                1 => lower.push(bound),
                _ => upper.push(bound),
            }
            Ok(())
        };
        rows.inequalities.iter().try_for_each(&mut add)?;
        for row in &rows.equalities {
            add(row)?;
            add(&row.scaled(-1)?)?;
        }
        let mut moduli = summands.moduli.clone();
        moduli.remove(&variable);
        for bound in lower.iter().chain(&upper) {
            let divisor = bound.divisor(summands.modulus(variable))?;
            for (column, coefficient) in self.columns.variable_part(&bound.form) {
                let needed = divisor / divisor.gcd(&coefficient);
                let modulus = moduli.get(&column).copied().unwrap_or(1);
                if modulus % needed != 0 {
                    let product = i128::from(modulus / modulus.gcd(&needed)) * i128::from(needed);
                    moduli.insert(column, fits(product)?);
                }
            }
        }
        let mut cost = (lower.len() * upper.len()) as u128;
        for (&column, &modulus) in &moduli {
            let growth = modulus / summands.modulus(column);
            cost = cost.saturating_mul(growth.unsigned_abs().into());
        }
        Ok(Bounds { variable, lower, upper, moduli, cost })
    }

    fn sum_over(
        &mut self,
        bounds: &Bounds,
        rows: &Rows,
        summands: &Summands,
        variables: &[usize],
    ) -> Result<()> {
        if bounds.lower.is_empty() || bounds.upper.is_empty() {
            return Err(Error::Infinite { set: "a domain".into() });
        }
        let mut rest = rows.clone();
        rest.inequalities.retain(|row| row.coefficient(bounds.variable) == 0);
        rest.equalities.retain(|row| row.coefficient(bounds.variable) == 0);
        let variables: Vec<usize> =
            variables.iter().copied().filter(|&other| other != bounds.variable).collect();
        let classes = self.refined(bounds, summands)?;
        for (i, low) in bounds.lower.iter().enumerate() {
            for (j, high) in bounds.upper.iter().enumerate() {
                let mut rows = rest.clone();
                let not_below = |a: &Bound, b: &Bound, factor: i64| {
                    a.form.scaled(b.coefficient)?.plus(&b.form.scaled(factor)?, a.coefficient)
                };
                rows.inequalities.push(not_below(low, high, 1)?);
                // The first of several that are equal is taken.
                for (k, other) in bounds.lower.iter().enumerate().filter(|(k, _)| *k != i) {
                    let strict = if k < i { -1 } else { 0 };
                    let row = not_below(other, low, -1)?.plus_constant(strict)?;
                    rows.inequalities.push(row);
                }
                for (k, other) in bounds.upper.iter().enumerate().filter(|(k, _)| *k != j) {
                    let strict = if k < j { -1 } else { 0 };
                    let row = not_below(other, high, -1)?.plus_constant(strict)?;
                    rows.inequalities.push(row);
                }
                let mut sums: BTreeMap<Vec<i64>, Polynomial> = BTreeMap::new();
                for class in &classes {
                    let (low, high) = (&class.below_lower[i], &class.upper[j]);
                    let sum = class.summand.sum(bounds.variable, low, high)?;
                    sums.entry(class.residues.clone()).or_default().add(&sum)?;
                }
                let summands = Summands { moduli: bounds.moduli.clone(), classes: sums };
                self.eliminate(rows, summands, variables.clone())?;
            }
        }
        Ok(())
    }

    /// The classes for all combinations of residues that the bounds need, each with `z` in place of the variable
    /// `x = m z + t`.
    fn refined(&mut self, bounds: &Bounds, summands: &Summands) -> Result<Vec<Class>> {
        let variable = bounds.variable;
        let modulus = summands.modulus(variable);
        let mut refined = Vec::new();
        for (residues, summand) in &summands.classes {
            let known: BTreeMap<usize, i64> =
                summands.moduli.keys().copied().zip(residues.iter().copied()).collect();
            let residue = known.get(&variable).copied().unwrap_or(0);
            let value = Form::column(variable).scaled(modulus)?.plus_constant(residue)?;
            let summand = summand.substitute(variable, &value)?;
            // One choice of residues after the other.
            let mut choices: Vec<Vec<i64>> = vec![Vec::new()];
            for (column, new) in &bounds.moduli {
                let (old, start) =
                    (summands.modulus(*column), known.get(column).copied().unwrap_or(0));
                self.budget.spend((new / old).unsigned_abs())?;
                let extended = choices.iter().flat_map(|choice| {
                    (0..new / old).map(move |step| {
                        let mut choice = choice.clone();
                        choice.push(start + step * old);
                        choice
                    })
                });
                choices = extended.collect();
            }
            for residues in choices {
                self.budget.spend(1)?;
                let fixed: BTreeMap<usize, i64> =
                    bounds.moduli.keys().copied().zip(residues.iter().copied()).collect();
                let mut below_lower = Vec::new();
                for bound in &bounds.lower {
                    // x >= -form / a is z >= -floor((form + a t) / (a m)); the summands before it end one below.
                    let floor = self.floor(bound, modulus, residue, &fixed)?;
                    let mut below = Polynomial::constant((-1).into());
                    below.add_scaled(&floor, &(-1).into())?;
                    below_lower.push(below);
                }
                let mut upper = Vec::new();
                for bound in &bounds.upper {
                    upper.push(self.floor(bound, modulus, -residue, &fixed)?);
                }
                refined.push(Class { residues, summand: summand.clone(), below_lower, upper });
            }
        }
        Ok(refined)
    }

    /// `floor((form + a t) / (a m))` for a bound with the coefficient a, where the variables have these residues.
    fn floor(
        &mut self,
        bound: &Bound,
        modulus: i64,
        residue: i64,
        residues: &BTreeMap<usize, i64>,
    ) -> Result<Polynomial> {
        let divisor = bound.divisor(modulus)?;
        let mut rest = bound.form.clone();
        let mut value = Polynomial::default();
        let mut constant = i128::from(bound.coefficient) * i128::from(residue);
        for (column, coefficient) in self.columns.variable_part(&bound.form) {
            // The divisor divides c (y - t).
            let residue = residues.get(&column).copied().unwrap_or(0);
            let variable = Form::column(column).plus_constant(fits(-i128::from(residue))?)?;
            let factor = Number::new(coefficient.into(), divisor.into());
            value.add_scaled(&Polynomial::linear(&variable), &factor)?;
            constant += i128::from(coefficient) * i128::from(residue);
            rest.set(column, 0);
        }
        let rest = rest.plus_constant(fits(constant)?)?;
        let (floor, _) = self.columns.floor(&rest, divisor)?;
        value.add(&Polynomial::linear(&floor))?;
        Ok(value)
    }
}

impl Bound {
    /// What the bound on `z` is divided by, for `x = modulus * z + t`.
    fn divisor(&self, modulus: i64) -> Result<i64> {
        fits(i128::from(self.coefficient) * i128::from(modulus))
    }
}

/// A residue class of all variables, with the bounds of the variable that is summed over next.
struct Class {
    /// In the order of the moduli of [`Bounds`].
    residues: Vec<i64>,
    summand: Polynomial,
    /// One below each lower bound.
    below_lower: Vec<Polynomial>,
    upper: Vec<Polynomial>,
}
