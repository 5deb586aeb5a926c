//! Which results come together in workspaces, for reports.

use std::borrow::Cow;

use dastac_iterate::Kind;
use dastac_loops::Index;
use dastac_sched::{Walked, Why};
use serde::{Deserialize, Serialize};

use crate::driver::Lowered;

/// A workspace of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedWorkspace {
    /// The result.
    pub tensor: String,
    /// `dense`, `list` or `hash`.
    pub kind: Cow<'static, str>,
    /// How many points it holds at most; not given for one that grows or has a place for everything.
    pub capacity: Option<i64>,
    /// The iterators of the result's levels outside of it: there is one for each of their points.
    pub outside: Vec<String>,
    /// The iterators of the levels in it.
    pub inside: Vec<String>,
    /// Why there is one.
    pub reason: Cow<'static, str>,
}

impl Lowered {
    /// The workspaces of all results, in the order of rules.
    pub fn workspaces(&self) -> Vec<UsedWorkspace> {
        self.kernel.walked.iter().filter_map(|walked| self.workspace(walked)).collect()
    }

    fn workspace(&self, walked: &Walked) -> Option<UsedWorkspace> {
        let gathers = walked.kernel.gathers.as_ref()?;
        let (kind, capacity) = match gathers.kind {
            Kind::Dense => ("dense", None),
            Kind::Growing => ("list", None),
            Kind::List { capacity } => ("list", Some(capacity)),
            Kind::Hash { capacity } => ("hash", Some(capacity)),
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
            tensor: self.program().tensor(walked.head).name.clone(),
            kind: kind.into(),
            capacity,
            outside,
            inside: names.collect(),
            reason: Cow::Borrowed(match walked.why {
                Some(Why::Asked) => "the program asks for it",
                Some(Why::Meets) => {
                    "sparse tensors meet in a sum, and none says where the result's elements are"
                }
                Some(Why::Scattered) | None => "no loops come to the elements in their order",
            }),
        })
    }
}
