//! Contraction trees.

/// In which steps the factors of a product are multiplied.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tree {
    /// A factor: an index into the product's accesses.
    Factor(usize),
    /// What is multiplied in one step.
    Step(Vec<Tree>),
}

impl Tree {
    /// Its factors.
    pub fn factors(&self) -> Vec<usize> {
        match self {
            Tree::Factor(at) => vec![*at],
            Tree::Step(parts) => parts.iter().flat_map(Tree::factors).collect(),
        }
    }

    /// Whether everything is multiplied in one step.
    pub fn is_direct(&self) -> bool {
        match self {
            Tree::Factor(_) => true,
            Tree::Step(parts) => parts.iter().all(|part| matches!(part, Tree::Factor(_))),
        }
    }

    /// Calls `visit` with every step but the last one, each after those that it reads.
    pub fn visit_steps<'t>(&'t self, visit: &mut dyn FnMut(&'t Tree, &'t [Tree])) {
        let Tree::Step(parts) = self else { return };
        for part in parts {
            part.visit_steps(visit);
            if let Tree::Step(below) = part {
                visit(part, below);
            }
        }
    }

    /// The tree without steps of one factor that sum nothing.
    pub(super) fn without_copies(self, sums: &dyn Fn(usize) -> bool) -> Tree {
        match self {
            Tree::Step(parts) => match parts.as_slice() {
                [Tree::Factor(at)] if !sums(*at) => Tree::Factor(*at),
                _ => Tree::Step(parts.into_iter().map(|part| part.without_copies(sums)).collect()),
            },
            factor => factor,
        }
    }

    /// As `schedule:` writes it: `(X, B), X`.
    pub fn written(&self, name: &dyn Fn(usize) -> String) -> String {
        match self {
            Tree::Factor(at) => name(*at),
            Tree::Step(parts) => {
                let part = |part: &Tree| match part {
                    Tree::Factor(at) => name(*at),
                    step @ Tree::Step(_) => format!("({})", step.written(name)),
                };
                parts.iter().map(part).collect::<Vec<_>>().join(", ")
            }
        }
    }
}
