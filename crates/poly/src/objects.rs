//! The types of isl objects. They stand apart from their methods, because sets, maps and functions make each other.

use crate::handle::Handle;
use isl_vendor as sys;

/// A set of integer points: a union of basic sets, in one space. Displays in isl's notation.
#[derive(Clone)]
pub struct Set(pub(crate) Handle<sys::isl_set>);

/// A relation between integer tuples of two spaces. Displays in isl's notation.
#[derive(Clone)]
pub struct Map(pub(crate) Handle<sys::isl_map>);

/// An affine expression over the dimensions of a domain. Displays in isl's notation.
#[derive(Clone)]
pub struct Aff(pub(crate) Handle<sys::isl_aff>);

/// A piecewise affine expression. Displays in isl's notation.
#[derive(Clone)]
pub struct PwAff(pub(crate) Handle<sys::isl_pw_aff>);

/// A quasi-polynomial over the dimensions of a domain. Displays in isl's notation.
#[derive(Clone)]
pub struct QPolynomial(pub(crate) Handle<sys::isl_qpolynomial>);

/// A piecewise quasi-polynomial; 0 outside of its pieces. Displays in isl's notation.
#[derive(Clone)]
pub struct PwQPolynomial(pub(crate) Handle<sys::isl_pw_qpolynomial>);

/// A union of sets of different spaces. Displays in isl's notation.
#[derive(Clone)]
pub struct UnionSet(pub(crate) Handle<sys::isl_union_set>);

/// A union of maps of different spaces. Displays in isl's notation.
#[derive(Clone)]
pub struct UnionMap(pub(crate) Handle<sys::isl_union_map>);

/// A schedule tree: a domain, with bands and sequences under it. Displays in isl's notation.
#[derive(Clone)]
pub struct Schedule(pub(crate) Handle<sys::isl_schedule>);

wrapper!(Set, Map, Aff, PwAff, PwQPolynomial, UnionSet, UnionMap, Schedule);
parsed!(Set, isl_set_read_from_str);
parsed!(Map, isl_map_read_from_str);
parsed!(PwAff, isl_pw_aff_read_from_str);
parsed!(PwQPolynomial, isl_pw_qpolynomial_read_from_str);
parsed!(UnionSet, isl_union_set_read_from_str);
parsed!(UnionMap, isl_union_map_read_from_str);
parsed!(Schedule, isl_schedule_read_from_str);
