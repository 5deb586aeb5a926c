//! How levels of a result come about in kernels: level functions that give statements.
//!
//! A level's coordinates are either *appended* or *inserted* (Chou, Kjolstad and Amarasinghe, OOPSLA'18, section 3.2):
//!
//! - appended: they come in the order of the level, each once below a position, and the next one gets the next
//!   position. `append_init` runs before all others, `append_coord` stores the coordinate at a position, `append_edges`
//!   says which positions are below one of the level before, and `append_finalize` runs behind all others;
//! - inserted: they come in any order, and `locate` gives the position of each. `insert_init` runs before all others,
//!   `insert_coord` marks the position as stored.

use dastac_loops::{BufferId, For, Function, Index, Let, Stmt, Value};

use super::LevelBuffers;

/// Level functions that make a level. The ones that a kind does not define do nothing.
pub trait LevelAssembly {
    /// Whether coordinates can be appended.
    fn can_append(&self) -> bool {
        false
    }

    /// Whether coordinates can be inserted: then `locate` gives a position for every coordinate.
    fn can_insert(&self) -> bool {
        false
    }

    /// `append_init(sz_{k-1})`: before anything is appended below `parents` positions.
    fn append_init(
        &self,
        _level: &LevelBuffers,
        _parents: &Index,
        _function: &mut Function,
    ) -> Vec<Stmt> {
        Vec::new()
    }

    /// `append_coord(p_k, i_k)`.
    fn append_coord(
        &self,
        _level: &LevelBuffers,
        _position: &Index,
        _coordinate: &Index,
    ) -> Vec<Stmt> {
        Vec::new()
    }

    /// `append_edges(p_{k-1}, begin_k, end_k)`: what was appended below a position. Positions of the level before below
    /// which there is nothing may be left out.
    fn append_edges(
        &self,
        _level: &LevelBuffers,
        _parent: &Index,
        _edges: (&Index, &Index),
    ) -> Vec<Stmt> {
        Vec::new()
    }

    /// `append_finalize(sz_{k-1})`: behind all that is appended below `parents` positions.
    fn append_finalize(
        &self,
        _level: &LevelBuffers,
        _parents: &Index,
        _function: &mut Function,
    ) -> Vec<Stmt> {
        Vec::new()
    }

    /// In place of `append_init`, `append_edges` and `append_finalize` where it is known before what will be appended:
    /// the positions below `p_{k-1}` begin at `begin`. Called for one position more than the level before has.
    fn append_begin(&self, _level: &LevelBuffers, _parent: &Index, _begin: &Index) -> Vec<Stmt> {
        Vec::new()
    }

    /// `insert_init(sz_k)`: before anything is inserted at `positions` positions.
    fn insert_init(
        &self,
        _level: &LevelBuffers,
        _positions: &Index,
        _function: &mut Function,
    ) -> Vec<Stmt> {
        Vec::new()
    }

    /// `insert_coord(p_k)`.
    fn insert_coord(&self, _level: &LevelBuffers, _position: &Index) -> Vec<Stmt> {
        Vec::new()
    }
}

/// `parallel x = 0 to count { body }`.
pub fn for_each(
    function: &mut Function,
    count: Index,
    body: impl FnOnce(Index) -> Vec<Stmt>,
) -> Stmt {
    let var = function.fresh_var("x");
    Stmt::For(For::new(var, Index::Const(0), count, body(Index::Var(var))).parallel())
}

/// Sets the first `count` elements of an array to an integer.
pub fn filled(function: &mut Function, array: BufferId, count: Index, with: i64) -> Stmt {
    let value = Value::FromIndex(Index::Const(with));
    for_each(function, count, |at| vec![Stmt::set(array, at, value)])
}

/// Adds up lengths: element `p + 1` of an array, which is the length of a segment `p`, becomes where the segment ends.
/// The first element is 0, and there are `count` segments.
pub fn lengths_to_ends(function: &mut Function, array: BufferId, count: Index) -> Stmt {
    let (length, segment) = (function.fresh_var("n"), function.fresh_var("x"));
    let at = Index::Var(segment);
    let add = Stmt::add(array, at.clone() + 1, Value::FromIndex(Index::Var(length)));
    let body = vec![Stmt::Let(Let { var: length, buffer: array, index: at, body: vec![add] })];
    Stmt::For(For::new(segment, Index::Const(0), count, body))
}
