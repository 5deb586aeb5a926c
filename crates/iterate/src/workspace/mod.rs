//! Workspaces: memory for the elements of a part of a result that loops come to in any order.
//!
//! The outermost loops go over the first levels of a result in order, and all others in an order of their own. What
//! these come to is kept in a workspace, under the coordinates of the other levels, and appended to the result when
//! they are done (sparse workspaces, section 3).

pub(super) mod dense;
