//! Which results come together in workspaces, for reports.

use std::borrow::Cow;

use dastac_iterate::Kind;
use dastac_loops::Index;
use dastac_sched::{Gathered, Walked, Why};
use dastac_stur::TensorId;
use serde::{Deserialize, Serialize};

use super::choice;
use crate::driver::Lowered;

/// A workspace of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedWorkspace {
    /// The result.
    pub tensor: String,
    /// `dense`, `list`, `hash`, `bucket`, or `dense or list` where sizes of a run choose.
    pub kind: Cow<'static, str>,
    /// How many points it holds at most; not given for one that grows or has a place for everything. How many
    /// coordinates a bucket has.
    pub capacity: Option<i64>,
    /// The iterators of the result's levels outside of it: there is one for each of their points.
    pub outside: Vec<String>,
    /// The iterators of the levels in it.
    pub inside: Vec<String>,
    /// Why there is one.
    pub reason: Cow<'static, str>,
    /// Why it is of this kind, if the program does not say it.
    pub choice: Option<String>,
}

impl Lowered {
    /// The workspaces of all results, in the order of rules.
    pub fn workspaces(&self) -> Vec<UsedWorkspace> {
        self.kernel.walked.iter().filter_map(|walked| self.workspace(walked)).collect()
    }

    /// What the kind of a workspace was chosen for, with so many levels of a result outside, if sizes were known.
    fn choice(&self, head: TensorId, outside: usize) -> Option<String> {
        let expected = self.laid.analysis.expected.get(&head)?;
        let order = self.program().tensor(head).format.as_ref()?.format.order()?;
        let (outside, inside) = order.split_at(outside.min(order.len()));
        let gathered = Gathered { head, outside, inside, block: &[], one_level: inside.len() == 1 };
        let shape = choice::shape(self.program(), expected, &gathered);
        let coordinates = number(shape.coordinates);
        let points = number(shape.points / shape.rows.max(1.0));
        let each = if outside.is_empty() { "" } else { " each" };
        Some(format!("quickest for about {points} points{each} at {coordinates} places"))
    }

    fn workspace(&self, walked: &Walked) -> Option<UsedWorkspace> {
        let gathers = walked.kernel.gathers.as_ref()?;
        let program = self.program();
        let mut rules = program.rules.iter().filter(|rule| rule.head == walked.head);
        let asked = rules.any(|rule| rule.schedule.workspace.is_some());
        let (kind, capacity) = match gathers.kind {
            Kind::Dense => ("dense", None),
            Kind::Growing => ("list", None),
            Kind::List { capacity } => ("list", Some(capacity)),
            Kind::Hash { capacity } => ("hash", Some(capacity)),
            Kind::Bucket { rows } => ("bucket", Some(rows)),
            Kind::Sized(_) => ("dense or list", None),
        };
        let mut names = gathers.coordinates.iter().map(|coordinate| {
            let mut name = String::new();
            coordinate.visit(&mut |index| {
                if let Index::Var(var) = index
                    && let Some((own, _)) = walked.kernel.iterators.get(var.0 as usize)
                {
                    name.clone_from(own);
                }
            });
            name
        });
        let outside = names.by_ref().take(gathers.levels).collect();
        Some(UsedWorkspace {
            tensor: program.tensor(walked.head).name.clone(),
            kind: kind.into(),
            capacity,
            outside,
            inside: names.collect(),
            reason: Cow::Borrowed(match walked.why {
                Some(Why::Asked) => "the program asks for it",
                Some(Why::Meets) => {
                    "sparse tensors meet in a sum, and none says where the result's elements are"
                }
                Some(Why::Chosen) => "integers choose the elements that are walked",
                Some(Why::Sent) => "what is stored says where the result's elements are",
                Some(Why::Discordant) => "the tensors are stored in another order",
                Some(Why::Scattered) | None => "no loops come to the elements in their order",
            }),
            choice: (!asked).then(|| self.choice(walked.head, gathers.levels)).flatten(),
        })
    }
}

/// Rounded to a whole number, or to two digits.
fn number(value: f64) -> String {
    match value < 10.0 {
        true => format!("{:.0}", value.ceil()),
        false => {
            let unit = 10f64.powf(value.log10().floor() - 1.0);
            format!("{:.0}", (value / unit).round() * unit)
        }
    }
}
