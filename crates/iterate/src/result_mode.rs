//! What becomes of the elements that the loops of a kernel come to.

use dastac_loops::{Append, BufferId, Function, Index, Stmt};

use super::workspace::Held;

/// What becomes of the elements that loops come to.
#[derive(Clone, Debug, Default)]
pub(super) enum ResultMode {
    /// They are stored at the kernel's place.
    #[default]
    AtPlaces,
    /// They are stored where a factor's element is.
    SamePattern {
        /// The factor of the one product.
        factor: usize,
    },
    /// They are appended: the bodies of the loops of some iterators, the outermost ones, stand in a
    /// [`dastac_loops::Append`].
    Appended {
        /// The iterators, by level.
        iterators: Vec<usize>,
        /// How many loops are theirs, or of what says where the elements are whose positions they are.
        depth: usize,
        /// Whether coordinates are reached several times, or in another order.
        scattered: bool,
        /// Where what is inside of these loops comes together.
        workspace: Option<Box<Held>>,
    },
}

impl ResultMode {
    pub(super) fn factor(&self) -> Option<usize> {
        match self {
            ResultMode::SamePattern { factor } => Some(*factor),
            _ => None,
        }
    }

    /// Whether loops at a depth append.
    pub(super) fn appends_at(&self, depth: usize) -> bool {
        matches!(self, ResultMode::Appended { depth: end, .. } if depth < *end)
    }

    pub(super) fn appends(&self) -> bool {
        matches!(self, ResultMode::Appended { .. })
    }

    /// Loops at a depth stand there so many times.
    pub(super) fn in_several(&mut self, depth: usize, times: usize) {
        if times > 1 {
            self.out_of_order(depth);
        }
    }

    /// A loop at a depth does not reach each coordinate once, in order.
    pub(super) fn out_of_order(&mut self, depth: usize) {
        if let ResultMode::Appended { depth: end, scattered, .. } = self {
            *scattered |= depth < *end;
        }
    }

    /// Whether elements come together in a workspace.
    pub(super) fn gathers(&self) -> bool {
        matches!(self, ResultMode::Appended { workspace: Some(_), .. })
    }

    /// Whether these workspaces have places for all coordinates.
    pub(super) fn is_dense(&self) -> bool {
        matches!(self, ResultMode::Appended { workspace: Some(workspace), .. }
            if matches!(**workspace, Held::Dense(_)))
    }

    /// The marks that a stored element sets.
    pub(super) fn marks(&self) -> Vec<(BufferId, Index)> {
        match self {
            ResultMode::Appended { workspace: Some(workspace), .. } => workspace.marks(),
            _ => Vec::new(),
        }
    }

    /// The statements inside of `depth` loops, and what appends the elements that they put into a workspace.
    pub(super) fn gathered(
        &self,
        depth: usize,
        mut body: Vec<Stmt>,
        function: &mut Function,
    ) -> Vec<Stmt> {
        if let ResultMode::Appended { depth: end, workspace: Some(workspace), .. } = self
            && depth == *end
        {
            body.extend(workspace.drain(function));
        }
        body
    }

    /// The body of an iterator's loop, at a coordinate: if the iterator is that of a level, it belongs to the
    /// coordinate of the level.
    pub(super) fn appended(
        &self,
        iterator: usize,
        coordinate: Index,
        body: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let ResultMode::Appended { iterators, .. } = self else { return body };
        match iterators.iter().position(|at| *at == iterator) {
            Some(level) => vec![Stmt::Append(Append { level, coordinate, body })],
            None => body,
        }
    }
}
