//! How many points there may be: the loops without what they do.

use std::collections::BTreeSet;

use dastac_loops::{BufferId, Index, Stmt, Value};

use super::super::super::append::in_order;
use super::super::bounding::{opened, repeated};
use super::{Counter, Points};

impl Points {
    /// Statements that add the number of insertions of others to the bound.
    pub(super) fn counted(&self, body: &[Stmt]) -> Vec<Stmt> {
        let mut own = opened(body);
        own.remove(&self.block);
        own.remove(&self.counters);
        let mut result = self.only_counted(body, &own);
        in_order(&mut result);
        result
    }

    fn only_counted(&self, body: &[Stmt], own: &BTreeSet<BufferId>) -> Vec<Stmt> {
        let mut result: Vec<Stmt> = Vec::new();
        for stmt in body {
            match stmt {
                Stmt::Store(store) if store.buffer == self.marker => {
                    self.add(&mut result, Index::Const(1));
                    continue;
                }
                // What windows on levels begin with, for loops inside.
                Stmt::Store(store) if own.contains(&store.buffer) => {
                    result.push(stmt.clone());
                    continue;
                }
                Stmt::Store(_) => continue,
                Stmt::Append(append) => {
                    result.extend(self.only_counted(&append.body, own));
                    continue;
                }
                _ => {}
            }
            let mut stmt = stmt.clone();
            let (mut empty, mut some) = (true, false);
            for inside in stmt.bodies_mut() {
                some = true;
                *inside = self.only_counted(inside, own);
                empty &= inside.is_empty();
            }
            if empty && some {
                continue;
            }
            match &stmt {
                Stmt::For(inner) => match repeated(inner, (self.at, &Counter::Bound.place())) {
                    Some(count) => self.add(&mut result, count),
                    None => result.push(stmt),
                },
                _ => result.push(stmt),
            }
        }
        result
    }

    fn add(&self, result: &mut Vec<Stmt>, count: Index) {
        result.push(Stmt::add(self.at, Counter::Bound.place(), Value::FromIndex(count)));
    }
}
