//! A kind of level that is defined in this file only: tensors are built in it, and kernels read it and make it.

use std::borrow::Cow;
use std::ops::Range;

use dastac_formats::format::{Format, Level};
use dastac_formats::level::assembly::filled;
use dastac_formats::level::{
    Arrays, Counts, Kind, LevelAssembly, LevelBuffers, LevelCode, LevelKind, LevelStorage, Located,
    Properties, Role,
};
use dastac_formats::storage::{Build, Building, Indices, Keys, StorageError};
use dastac_loops::{Function, Index, Stmt, Value, verify};
use proptest::prelude::*;

use super::assemble::{assembled, check};
use super::kernels::{RandomKernel, cases, expected, module_of, run};
use crate::*;

/// A bitmap the other way round: its array is 1 where a coordinate is *not* stored.
#[derive(Debug)]
struct Vacancies;

const VACANCIES: Level = Level::of(Kind::new(&Vacancies));

impl LevelKind for Vacancies {
    fn word(&self) -> &'static str {
        "vacancies"
    }

    fn letter(&self) -> char {
        'V'
    }

    fn about(&self) -> &'static str {
        "all coordinates, and which of them are missing"
    }

    fn properties(&self) -> Properties {
        Properties { ordered: true, unique: true, ..Properties::NONE }
    }

    fn arrays(&self) -> &'static [Role] {
        &[Role::Present]
    }
}

fn inverted(flags: &Indices) -> Indices {
    Indices::U8(flags.iter().map(|flag| u8::from(flag == 0)).collect())
}

impl LevelStorage for Vacancies {
    fn positions(&self, counts: Counts) -> Option<u64> {
        counts.above.checked_mul(counts.extent)
    }

    fn build(&self, building: &mut dyn Building) -> Result<Vec<Indices>, StorageError> {
        building.full()?;
        Ok(vec![inverted(&building.present()?)])
    }

    fn pos_bounds(&self, arrays: Arrays<'_>, parent: u64) -> Range<u64> {
        parent * arrays.extent..(parent + 1) * arrays.extent
    }

    fn pos_access(&self, arrays: Arrays<'_>, parent: u64, position: u64) -> Option<u64> {
        let vacant = arrays.data.present()?.at(usize::try_from(position).ok()?);
        (vacant == 0).then(|| position - parent * arrays.extent)
    }

    fn locate(&self, arrays: Arrays<'_>, parent: u64, coordinate: u64) -> Vec<u64> {
        let position = parent * arrays.extent + coordinate;
        Vec::from_iter(self.pos_access(arrays, parent, position).map(|_| position))
    }

    fn walk<'a>(&self, arrays: Arrays<'a>, keys: &mut dyn Keys<'a>) -> Result<(), StorageError> {
        keys.full(arrays.extent)?;
        if let Some(vacant) = arrays.data.present() {
            keys.keep(Cow::Owned(inverted(vacant)));
        }
        Ok(())
    }
}

impl LevelCode for Vacancies {
    fn count(&self, above: Index, extent: &Index, _own: Option<Index>) -> Index {
        above * extent.clone()
    }

    fn coord_bounds_code(&self, extent: &Index) -> Option<(Index, Index)> {
        Some((Index::Const(0), extent.clone()))
    }

    fn locate_code(
        &self,
        level: &LevelBuffers,
        parent: &Index,
        coordinate: &Index,
        extent: &Index,
    ) -> Option<Located> {
        let position = parent.clone() * extent.clone() + coordinate.clone();
        let vacant = Index::Load(level.array(Role::Present)?, Box::new(position.clone()));
        Some(Located { position, condition: Some(vacant.at_most(Index::Const(0))) })
    }
}

impl LevelAssembly for Vacancies {
    fn can_insert(&self) -> bool {
        true
    }

    fn insert_init(
        &self,
        level: &LevelBuffers,
        positions: &Index,
        function: &mut Function,
    ) -> Vec<Stmt> {
        let vacant = level.array(Role::Present);
        Vec::from_iter(vacant.map(|array| filled(function, array, positions.clone(), 1)))
    }

    fn insert_coord(&self, level: &LevelBuffers, position: &Index) -> Vec<Stmt> {
        let none = Value::FromIndex(Index::Const(0));
        let vacant = level.array(Role::Present);
        Vec::from_iter(vacant.map(|array| Stmt::set(array, position.clone(), none)))
    }
}

/// A format with some of its bitmaps and dense levels replaced.
fn replaced(format: &Format, which: &[bool]) -> Format {
    let levels = format.levels().iter().zip(which.iter().cycle());
    let level = |(level, replace): (&Level, &bool)| match *replace && level.kind.can_locate() {
        true if !level.kind.is_derived() => VACANCIES,
        _ => *level,
    };
    Format::with_map(levels.map(level).collect(), format.map().clone()).unwrap()
}

/// A case with some levels of operands replaced.
fn with_vacancies(mut case: RandomKernel, which: &[bool]) -> RandomKernel {
    for operand in &mut case.operands {
        operand.format = replaced(&operand.format, which);
        operand.tensor = operand.tensor.convert(&operand.format, Build::default()).unwrap();
    }
    case
}

proptest! {
    #![proptest_config(super::config(1000))]

    #[test]
    fn kernels_read_a_kind_that_is_defined_here(
        case in cases(),
        which in prop::collection::vec(any::<bool>(), 3),
    ) {
        let case = with_vacancies(case, &which);
        let (mut module, compiled, symbols) = module_of(&case);
        if compiled.is_err() {
            return Ok(());
        }
        lower(&mut module);
        prop_assert_eq!(verify(&module), Ok(()), "{}", module);
        prop_assert_eq!(run(&module, &case, &symbols), expected(&case), "{}", module);
    }

    #[test]
    fn kernels_make_a_kind_that_is_defined_here(
        case in cases(),
        which in prop::collection::vec(0usize..3, 3),
    ) {
        let case = with_vacancies(case, &[true, false]);
        let kinds = which.iter().map(|at| [VACANCIES, Level::COMPRESSED, Level::DENSE][*at]);
        let rank = case.head.len();
        let format = Format::new(kinds.take(rank).collect(), (0..rank).collect()).unwrap();
        if let Ok(all) = assembled(&case, &format) {
            prop_assert_eq!(verify(&all.module), Ok(()), "{}", all.module);
            check(&all, &case, &format)?;
        }
    }
}
