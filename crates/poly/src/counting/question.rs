//! What is counted and the answer, as text that does not depend on names: the key of the cache, and what goes to a
//! worker process.
//!
//! Invariants: parameters are `p0, p1, ..`, inputs of a map are further parameters `i0, i1, ..`, what is counted is
//! `c0, c1, ..`; tuples are flat and nameless; equalities are explicit, basic sets joined where they fit and sorted.
//! Every counter starts from this text and every answer passes through its own, so that what a caller gets does not
//! depend on which process answered or when.

use crate::handle::Handle;
use crate::space::{OUT, PARAM, Space};
use crate::{Atom, Context, Error, LinearExpr, Map, PwQPolynomial, QPolynomial, Result, Set, Term};
use isl_vendor as sys;

/// Joining takes time that grows with the square of the number of basic sets.
const MAX_TO_JOIN: usize = 128;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The number of points of a set.
    Points,
    /// The sum of a piecewise quasi-polynomial over its domain.
    Sum,
}

/// A set to be counted, or a function to be summed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) asked: Asked,
    /// The names of the parameters where the question came from; no part of the question itself.
    names: Vec<String>,
    params: usize,
    inputs: usize,
    /// isl's notation.
    pub(super) text: String,
}

/// The pieces of a piecewise quasi-polynomial over the parameters of the question. They do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer(pub(super) Vec<Piece>);

/// Where a piece holds, and its value there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// isl's notation: `p0 > 0`, or nothing.
    pub(super) condition: String,
    /// Over parameters and floors of them. isl's own notation of polynomials takes isl seconds to read.
    pub(super) value: Vec<Term>,
}

fn numbered(letter: char, count: usize) -> Vec<String> {
    (0..count).map(|k| format!("{letter}{k}")).collect()
}

/// What stands between the braces of isl's notation.
fn body(text: &str) -> &str {
    let inner = text.split_once('{').map_or(text, |(_, rest)| rest);
    inner.rsplit_once('}').map_or(inner, |(inner, _)| inner).trim()
}

fn with_param_names(set: &Set, names: &[String]) -> Result<Set> {
    let mut set = set.clone();
    for (pos, name) in names.iter().enumerate() {
        let name = crate::context::c_string(name)?;
        set = isl!(
            set.context(),
            isl_set_set_dim_name(set.0.take(), PARAM, pos as u32, name.as_ptr())
        )
        .map(Set)?;
    }
    Ok(set)
}

impl Question {
    /// The number of points of a set whose first dimensions are inputs.
    fn points(set: &Set, inputs: usize) -> Result<Question> {
        let set = set.flatten()?.drop_unused_params()?;
        let names = set.params()?;
        let params = names.len();
        let counted = set.rank() - inputs;
        let mut dims = numbered('i', inputs);
        dims.extend(numbered('c', counted));
        let set = with_param_names(&set.with_dim_names(&dims)?, &numbered('p', params))?;
        let (at, count) = (params as u32, inputs as u32);
        let set = isl!(set.context(), isl_set_move_dims(set.0.take(), PARAM, at, OUT, 0, count))
            .map(Set)?;
        let mut set = set.detect_equalities()?;
        let mut basics = set.basic_sets()?;
        if (2..=MAX_TO_JOIN).contains(&basics.len()) {
            set = set.coalesce()?;
            basics = set.basic_sets()?;
        }
        let mut texts: Vec<String> = basics
            .iter()
            .map(|basic| Ok(body(&basic.0.text()?).to_owned()))
            .collect::<Result<_>>()?;
        texts.sort_unstable();
        texts.dedup();
        let body =
            if texts.is_empty() { body(&set.0.text()?).to_owned() } else { texts.join("; ") };
        let mut question =
            Question { asked: Asked::Points, names, params, inputs, text: String::new() };
        question.text = format!("{}{{ {body} }}", question.prefix());
        Ok(question)
    }

    pub(super) fn of_set(set: &Set) -> Result<Question> {
        if set.is_params()? {
            // 1 where the condition holds: the one point of a tuple without dimensions.
            return Question::points(
                &isl!(set.context(), isl_set_from_params(set.0.take())).map(Set)?,
                0,
            );
        }
        Question::points(set, 0)
    }

    pub(super) fn of_map(map: &Map) -> Result<Question> {
        Question::points(&map.wrap()?, map.in_rank())
    }

    pub(super) fn of_sum(function: &PwQPolynomial) -> Result<Question> {
        let function = function.drop_unused_params()?;
        let domain = function.domain()?;
        let (names, rank) = (domain.params()?, domain.rank());
        let params = names.len();
        let model = domain.flatten()?.with_dim_names(&numbered('c', rank))?;
        let space = with_param_names(&model, &numbered('p', params))?.space()?;
        let function = with_domain_space(&function, &space)?;
        let text = function.0.text()?;
        Ok(Question { asked: Asked::Sum, names, params, inputs: 0, text })
    }

    /// A text that is equal only for equal questions.
    pub(super) fn key(&self) -> String {
        format!("{:?} {} {} {}", self.asked, self.params, self.inputs, self.text)
    }

    /// The question of a key.
    pub(super) fn from_key(key: &str) -> Option<Question> {
        let mut words = key.splitn(4, ' ');
        let asked = match words.next()? {
            "Points" => Asked::Points,
            "Sum" => Asked::Sum,
            _ => return None,
        };
        let (params, inputs) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Question { asked, names: Vec::new(), params, inputs, text: words.next()?.to_owned() })
    }

    /// `[p0, i0] -> `
    fn prefix(&self) -> String {
        let mut names = numbered('p', self.params);
        names.extend(numbered('i', self.inputs));
        format!("[{}] -> ", names.join(", "))
    }

    /// An answer from a function of the parameters `p0, .., i0, ..` whose pieces do not overlap.
    pub(super) fn answer(&self, function: &PwQPolynomial) -> Result<Answer> {
        let mut pieces = Vec::new();
        for (domain, polynomial) in function.pieces()? {
            if polynomial.is_infinite()? {
                return Err(Error::Infinite { set: self.text.clone() });
            }
            let text = domain.0.text()?;
            let condition = body(&text).trim_start_matches(':').trim().to_owned();
            pieces.push(Piece { condition, value: polynomial.terms()? });
        }
        // isl's own order depends on addresses in places.
        pieces.sort_unstable_by(|a, b| a.condition.cmp(&b.condition));
        Ok(Answer(pieces))
    }

    /// The function of the parameters that has a value where a condition holds.
    pub(super) fn term(
        &self,
        context: &Context,
        condition: &str,
        value: &[Term],
    ) -> Result<PwQPolynomial> {
        let set = Set::parse(context, &format!("{}{{ : {condition} }}", self.prefix()))?;
        let value = QPolynomial::from_terms(&set, value)?;
        PwQPolynomial::from_pieces(&[(set, value)])
    }

    /// The answer as a function on `space` (of parameters, or of as many dimensions as there are inputs), which has the
    /// parameters that the question came from, in their order.
    pub(super) fn read(
        &self,
        context: &Context,
        answer: &Answer,
        space: &Space,
    ) -> Result<PwQPolynomial> {
        // Parameters that the question does not have stand beside the others, under names that it does not have either.
        let mut params = Vec::new();
        for name in space.names(PARAM)? {
            let known = self.names.iter().position(|used| *used == name);
            params.push(known.map_or_else(|| format!("u{}", params.len()), |k| format!("p{k}")));
        }
        let params = params.join(", ");
        let inputs = numbered('i', self.inputs);
        let tuple =
            if space.is_params()? { String::new() } else { format!("[{}]", inputs.join(", ")) };
        let set = |condition: &str| {
            Set::parse(context, &format!("[{params}] -> {{ {tuple} : {condition} }}"))
        };
        let mut function: Option<PwQPolynomial> = None;
        for piece in &answer.0 {
            let set = set(&piece.condition)?;
            let value: Vec<Term> =
                piece.value.iter().map(|term| with_dims(term, &inputs)).collect();
            let value = QPolynomial::from_terms(&set, &value)?;
            let piece = PwQPolynomial::from_pieces(&[(set, value)])?;
            function = Some(match function {
                None => piece,
                Some(function) => isl!(
                    context,
                    isl_pw_qpolynomial_add_disjoint(function.0.pass(), piece.0.pass())
                )
                .map(PwQPolynomial)?,
            });
        }
        let function = match function {
            Some(function) => function,
            None => PwQPolynomial::zero_on(&set("")?)?,
        };
        with_domain_space(&function, space)
    }
}

/// The term with dimensions in place of the parameters `inputs`.
fn with_dims(term: &Term, inputs: &[String]) -> Term {
    let dim = |name: &String| inputs.iter().position(|input| input == name);
    fn replaced(expr: &LinearExpr, dim: &impl Fn(&String) -> Option<usize>) -> LinearExpr {
        let mut new = expr.clone();
        new.params.retain(|(name, _)| dim(name).is_none());
        for (name, coefficient) in &expr.params {
            new.dims.extend(dim(name).map(|pos| (pos, *coefficient)));
        }
        for (_, floor) in &mut new.floors {
            *floor.numerator = replaced(&floor.numerator, dim);
        }
        new
    }
    let atom = |atom: &Atom| match atom {
        Atom::Param(name) => dim(name).map_or_else(|| atom.clone(), Atom::Dim),
        Atom::Dim(_) => atom.clone(),
        Atom::Floor(inner) => Atom::Floor(Box::new(replaced(inner, &dim))),
    };
    let factors = term.factors.iter().map(|(factor, exponent)| (atom(factor), *exponent));
    Term { coefficient: term.coefficient, factors: factors.collect() }
}

fn with_domain_space(function: &PwQPolynomial, space: &Space) -> Result<PwQPolynomial> {
    let (function, space): (Handle<sys::isl_pw_qpolynomial>, _) = (function.0.clone(), space);
    isl!(function.context(), isl_pw_qpolynomial_reset_domain_space(function.take(), space.take()))
        .map(PwQPolynomial)
}
