//! Routines that programs call by name: what cores have no instructions for.
//!
//! A linker gives each an address ([`address`]); a core that gets there does what the routine does in no time and then
//! issues as many instructions as the profile says that it has. Names and conventions are those of the compiler's run
//! time and of the C library.

use dastac_loops::MathFunction;

use crate::address::ROUTINES;
use crate::profile::Routines;
use crate::registers::Registers;

/// What a routine does.
#[derive(Clone, Copy)]
pub enum Action {
    /// Something with registers.
    Compute(fn(&mut Registers)),
    /// A function of numbers with 64 bits, or with 32.
    Function(MathFunction, bool),
    /// The thread ends.
    Exit,
    /// The program gives up.
    Abort,
    /// Nothing but a result of 0.
    Nothing,
    /// Memory for a workspace; the number of bytes is the argument at a place.
    Allocate(usize),
    /// A workspace is given back.
    Free,
    /// Bytes are set.
    Set,
    /// Bytes are copied.
    Copy,
}

/// A routine.
pub struct Routine {
    /// Its name.
    pub name: String,
    /// What it does.
    pub action: Action,
    /// Instructions that it costs.
    cost: fn(&Routines) -> u32,
}

impl Routine {
    /// Instructions that a call costs.
    pub fn cost(&self, of: &Routines) -> u32 {
        (self.cost)(of)
    }
}

/// Bytes between the addresses of two routines.
const APART: u32 = 16;

/// The address of a routine, if there is one of that name. Where sizes have 64 bits (`wide`), those that take them are
/// others.
pub fn address(name: &str, wide: bool) -> Option<u32> {
    let find = |name: &str| all().iter().position(|one| one.name == name);
    let own = if wide { find(&format!("{name}.64")) } else { None };
    let place = own.or_else(|| find(name))?;
    Some(ROUTINES + APART * place as u32)
}

/// The routine at an address.
#[inline]
pub fn at(address: u32) -> Option<&'static Routine> {
    let offset = address.checked_sub(ROUTINES).filter(|offset| offset % APART == 0)?;
    all().get((offset / APART) as usize)
}

/// Where a thread returns to that is done.
pub const EXIT: u32 = ROUTINES;

/// All routines; the first one ends a thread.
fn all() -> &'static [Routine] {
    static ALL: std::sync::OnceLock<Vec<Routine>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = vec![Routine { name: "_exit".into(), action: Action::Exit, cost: |_| 1 }];
        all.extend(memory());
        all.extend(doubles());
        all.extend(conversions());
        all.extend(longs());
        all.extend(functions());
        all
    })
}

fn memory() -> Vec<Routine> {
    let routine =
        |name: &str, action| Routine { name: name.into(), action, cost: |of| of.allocate };
    vec![
        routine("abort", Action::Abort),
        routine("dprintf", Action::Nothing),
        routine("malloc", Action::Allocate(0)),
        routine("aligned_alloc", Action::Allocate(1)),
        routine("aligned_alloc.64", Action::Allocate(2)),
        routine("free", Action::Free),
        Routine { name: "memset".into(), action: Action::Set, cost: |_| 8 },
        Routine { name: "memcpy".into(), action: Action::Copy, cost: |_| 8 },
        Routine { name: "memmove".into(), action: Action::Copy, cost: |_| 8 },
    ]
}

/// Makes routines of names and of what is done with registers.
macro_rules! computing {
    ($cost:ident; $($name:literal: |$r:ident| $does:expr;)*) => {
        vec![$(Routine {
            name: $name.into(),
            action: Action::Compute(|$r: &mut Registers| $does),
            cost: |of| of.$cost,
        }),*]
    };
}

/// -1, 0 or 1, and 1 for what is no number: how the run time compares.
fn compared(r: &mut Registers, unordered: i32) {
    let order = r.double(0).partial_cmp(&r.double(1));
    r.give(order.map_or(unordered, |order| order as i32) as u32);
}

fn doubles() -> Vec<Routine> {
    let mut all = computing! { double_add;
        "__adddf3": |r| r.give_double(r.double(0) + r.double(1));
        "__subdf3": |r| r.give_double(r.double(0) - r.double(1));
    };
    all.extend(computing! { double_multiply;
        "__muldf3": |r| r.give_double(r.double(0) * r.double(1));
        "fma": |r| r.give_double(r.double(0).mul_add(r.double(1), r.double(2)));
    });
    all.extend(computing! { double_divide;
        "__divdf3": |r| r.give_double(r.double(0) / r.double(1));
        "fmod": |r| r.give_double(r.double(0) % r.double(1));
    });
    all.extend(computing! { double_compare;
        "__eqdf2": |r| compared(r, 1);
        "__nedf2": |r| compared(r, 1);
        "__ltdf2": |r| compared(r, 1);
        "__ledf2": |r| compared(r, 1);
        "__gtdf2": |r| compared(r, -1);
        "__gedf2": |r| compared(r, -1);
        "__unorddf2": |r| r.give(u32::from(r.double(0).is_nan() || r.double(1).is_nan()));
        "fmin": |r| r.give_double(r.double(0).min(r.double(1)));
        "fmax": |r| r.give_double(r.double(0).max(r.double(1)));
        "fminimum": |r| r.give_double(least(r.double(0), r.double(1)));
        "fmaximum": |r| r.give_double(-least(-r.double(0), -r.double(1)));
        "roundeven": |r| r.give_double(r.double(0).round_ties_even());
        "rint": |r| r.give_double(r.double(0).round_ties_even());
        "ldexp": |r| r.give_double(scaled(r.double(0), r.word(2) as i32));
    });
    all
}

/// The smaller number, of zeros the negative one; none if one is none.
fn least(a: f64, b: f64) -> f64 {
    match (a.is_nan() || b.is_nan(), a == b) {
        (true, _) => f64::NAN,
        (false, true) if a.is_sign_negative() => a,
        (false, true) => b,
        _ => a.min(b),
    }
}

/// A number times a power of 2.
fn scaled(value: f64, by: i32) -> f64 {
    // Two steps each way reach from the smallest to the largest numbers.
    let step = by.clamp(-2100, 2100) / 3;
    let rest = by.clamp(-2100, 2100) - 2 * step;
    value * 2f64.powi(step) * 2f64.powi(step) * 2f64.powi(rest)
}

/// The lowest bits of a float register as a number of 16 bits, and back.
fn short(bits: u32) -> f64 {
    half::f16::from_bits(bits as u16).to_f64()
}

fn to_short(value: f64) -> u32 {
    // Above the number all bits are 1, as the instruction set keeps short numbers in long registers.
    0xffff_0000 | u32::from(half::f16::from_f64(value).to_bits())
}

fn conversions() -> Vec<Routine> {
    computing! { double_convert;
        "__extendsfdf2": |r| r.give_double(f64::from(r.single(0)));
        "__truncdfsf2": |r| r.give_single(r.double(0) as f32);
        "__fixdfsi": |r| r.give(r.double(0) as i32 as u32);
        "__fixunsdfsi": |r| r.give(r.double(0) as u32);
        "__fixdfdi": |r| r.give_long(r.double(0) as i64 as u64);
        "__fixunsdfdi": |r| r.give_long(r.double(0) as u64);
        "__floatsidf": |r| r.give_double(f64::from(r.word(0) as i32));
        "__floatunsidf": |r| r.give_double(f64::from(r.word(0)));
        "__floatdidf": |r| r.give_double(r.long(0) as i64 as f64);
        "__floatundidf": |r| r.give_double(r.long(0) as f64);
        "__fixsfdi": |r| r.give_long(r.single(0) as i64 as u64);
        "__fixunssfdi": |r| r.give_long(r.single(0) as u64);
        "__floatdisf": |r| r.give_single(r.long(0) as i64 as f32);
        "__floatundisf": |r| r.give_single(r.long(0) as f32);
        "__extendhfsf2": |r| r.give_single(short(r.f[10]) as f32);
        "__extendhfdf2": |r| r.give_double(short(r.f[10]));
        "__truncsfhf2": |r| r.f[10] = to_short(f64::from(r.single(0)));
        "__truncdfhf2": |r| r.f[10] = to_short(r.double(0));
    }
}

fn longs() -> Vec<Routine> {
    let mut all = computing! { long_divide;
        "__divdi3": |r| r.give_long((r.long(0) as i64).checked_div(r.long(2) as i64).unwrap_or(0) as u64);
        "__moddi3": |r| r.give_long((r.long(0) as i64).checked_rem(r.long(2) as i64).unwrap_or(0) as u64);
        "__udivdi3": |r| r.give_long(r.long(0).checked_div(r.long(2)).unwrap_or(0));
        "__umoddi3": |r| r.give_long(r.long(0).checked_rem(r.long(2)).unwrap_or(0));
    };
    all.extend(computing! { long_multiply;
        "__muldi3": |r| r.give_long(r.long(0).wrapping_mul(r.long(2)));
        "__ashldi3": |r| r.give_long(r.long(0) << (r.word(2) & 63));
        "__lshrdi3": |r| r.give_long(r.long(0) >> (r.word(2) & 63));
        "__ashrdi3": |r| r.give_long((r.long(0) as i64 >> (r.word(2) & 63)) as u64);
    });
    all
}

fn functions() -> Vec<Routine> {
    // The C library's `round` and `abs` are others.
    let named = |one: &&MathFunction| {
        let other = matches!(one, MathFunction::Round | MathFunction::Abs | MathFunction::Sign);
        !other && !one.is_of_parts()
    };
    let both = MathFunction::ALL.iter().filter(named).flat_map(|one| {
        [false, true].map(|single| Routine {
            name: format!("{}{}", one.name(), if single { "f" } else { "" }),
            action: Action::Function(*one, single),
            cost: |of| of.function,
        })
    });
    both.chain(computing! { function;
        "ldexpf": |r| r.give_single(scaled(f64::from(r.single(0)), r.word(0) as i32) as f32);
        "fmodf": |r| r.give_single(r.single(0) % r.single(1));
        "fminimumf": |r| r.give_single(least(r.single(0).into(), r.single(1).into()) as f32);
        "fmaximumf": |r| r.give_single(-least((-r.single(0)).into(), (-r.single(1)).into()) as f32);
        "roundevenf": |r| r.give_single(r.single(0).round_ties_even());
        "rintf": |r| r.give_single(r.single(0).round_ties_even());
    })
    .collect()
}

/// What a function gives for the arguments in registers.
pub fn apply(function: MathFunction, single: bool, r: &mut Registers) {
    match single {
        true => {
            let of = [0, 1].map(|at| f64::from(r.single(at)));
            r.give_single(function.eval(&of) as f32);
        }
        false => {
            let of = [0, 1].map(|at| r.double(at));
            r.give_double(function.eval(&of));
        }
    }
}
