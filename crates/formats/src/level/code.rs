//! Level functions in kernels: a level's arrays are buffers of a module, and its functions expressions of the loop IR.

use dastac_loops::{BufferId, Condition, Element, Index, Module, SymbolId};

use super::{Kind, Role, Width};

/// The arrays of a level as buffers.
#[derive(Clone, Debug)]
pub struct LevelBuffers {
    /// The kind of the level.
    pub kind: Kind,
    /// Its arrays, in the order of [`super::LevelKind::arrays`].
    pub arrays: Vec<BufferId>,
    /// The symbol for the number of its positions, if that follows from nothing else.
    pub count: Option<SymbolId>,
}

/// Where a coordinate is.
#[derive(Clone, Debug)]
pub struct Located {
    /// Its position; in bounds also where the coordinate is not stored.
    pub position: Index,
    /// What holds where it is stored, unless it always is.
    pub condition: Option<Condition>,
}

/// Level functions on expressions.
pub trait LevelCode {
    /// Whether the number of positions is known only when a tensor is there: it is a symbol then.
    fn is_counted(&self) -> bool {
        false
    }

    /// How many positions the level has below `above` of them; `own` is its symbol, if it has one.
    fn count(&self, above: Index, extent: &Index, own: Option<Index>) -> Index;

    /// `coord_bounds() -> [begin_k, end_k)`: the coordinates that there can be, of a level that is iterated by
    /// coordinate and located ([`LevelCode::locate_code`]); nothing of one that is iterated by position.
    fn coord_bounds_code(&self, _extent: &Index) -> Option<(Index, Index)> {
        None
    }

    /// Whether coordinates are located: such levels are iterated by coordinate, all others by position.
    fn can_locate(&self) -> bool {
        self.coord_bounds_code(&Index::Const(1)).is_some()
    }

    /// `locate(p_{k-1}, i_k) -> p_k`, which is `coord_access` too.
    fn locate_code(
        &self,
        _level: &LevelBuffers,
        _parent: &Index,
        _coordinate: &Index,
        _extent: &Index,
    ) -> Option<Located> {
        None
    }

    /// `pos_bounds` of all positions from the first of `parents` up to the second, which is exclusive: they follow each
    /// other.
    fn pos_bounds_code(
        &self,
        _level: &LevelBuffers,
        _parents: (&Index, &Index),
    ) -> Option<(Index, Index)> {
        None
    }
}

impl LevelBuffers {
    /// Adds the arrays of a level below `above` positions to a module: `A.pos1`, `A.crd1`, and `A.count1` for the
    /// number of its positions. Gives how many positions it has too.
    pub fn declare(
        module: &mut Module,
        kind: Kind,
        declared: Declared<'_>,
        above: Index,
    ) -> (LevelBuffers, Index) {
        let Declared { name, level, indices, .. } = declared;
        let mut result = LevelBuffers { kind, arrays: Vec::new(), count: None };
        let mut positions = above.clone();
        let mut counted = false;
        for role in kind.arrays() {
            let size = match role {
                Role::Positions => above.clone() + 1,
                Role::Coordinates | Role::Present => {
                    if !std::mem::replace(&mut counted, true) {
                        positions = result.counted(module, &declared, above.clone());
                    }
                    positions.clone()
                }
            };
            let buffer = format!("{name}.{}{level}", role.suffix());
            let element = match role {
                Role::Positions => indices,
                Role::Coordinates => declared.width.map_or(indices, Width::element),
                Role::Present => Element::U8,
            };
            result.arrays.push(module.buffer(buffer, element, size));
        }
        if !counted {
            positions = result.counted(module, &declared, above);
        }
        (result, positions)
    }

    /// How many positions the level has; a symbol of its own where that is known only when a tensor is there.
    fn counted(&mut self, module: &mut Module, declared: &Declared<'_>, above: Index) -> Index {
        let Declared { name, level, extent, .. } = declared;
        if self.kind.is_counted() {
            self.count = Some(module.symbol(&format!("{name}.count{level}")));
        }
        self.kind.count(above, extent, self.count.map(Index::Symbol))
    }

    /// The array with a role.
    pub fn array(&self, role: Role) -> Option<BufferId> {
        let at = self.kind.arrays().iter().position(|own| *own == role)?;
        self.arrays.get(at).copied()
    }

    /// `pos_bounds(p_{k-1}) -> [begin_k, end_k)`; nothing where the level is located.
    pub fn pos_bounds(&self, parent: &Index) -> Option<(Index, Index)> {
        self.pos_bounds_of((parent, &(parent.clone() + 1)))
    }

    /// `pos_bounds` of several positions of the level before, which follow each other.
    pub fn pos_bounds_of(&self, parents: (&Index, &Index)) -> Option<(Index, Index)> {
        self.kind.pos_bounds_code(self, parents)
    }

    /// `pos_access(p_k) -> i_k`, given where the positions below `p_{k-1}` begin: without an array of coordinates, they
    /// are counted from there.
    pub fn pos_access(&self, start: &Index, position: &Index) -> Index {
        match self.array(Role::Coordinates) {
            Some(coordinates) => Index::Load(coordinates, Box::new(position.clone())),
            None => position.clone() - start.clone(),
        }
    }

    /// How many positions the level has, given those of the level before.
    pub fn size(&self, above: Index, extent: &Index) -> Index {
        self.kind.count(above, extent, self.count.map(Index::Symbol))
    }

    /// `locate(p_{k-1}, i_k) -> p_k`; nothing where a coordinate has to be searched.
    pub fn locate(&self, parent: &Index, coordinate: &Index, extent: &Index) -> Option<Located> {
        self.kind.locate_code(self, parent, coordinate, extent)
    }
}

/// What the arrays of a level are named after, and how large they are.
#[derive(Clone, Copy, Debug)]
pub struct Declared<'a> {
    /// The tensor's name.
    pub name: &'a str,
    /// The level's number, from 0.
    pub level: usize,
    /// The level's extent.
    pub extent: &'a Index,
    /// In how many bits its coordinates are, if its format says so.
    pub width: Option<Width>,
    /// The type of positions, and of coordinates otherwise.
    pub indices: Element,
}
