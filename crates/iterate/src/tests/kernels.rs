//! Kernels compute what their expressions say, whatever the formats are.

use std::collections::BTreeMap;

use dastac_loops::interp::{self, Data};
use dastac_loops::{Element, Index, Module, VarId, verify};
use dastac_stur::semiring::Semiring;
use proptest::prelude::*;

use crate::*;
use dastac_elements::Storage;
use dastac_formats::format::{Format, IndexMap, Level, LevelExpr};
use dastac_formats::storage::{Build, Entries, Indices, LevelData, Tensor};

/// A linear expression: iterators with coefficients, and a constant.
pub(super) type Sum = (Vec<(usize, i64)>, i64);

/// A tensor: its shape, of each dimension the iterator whose extent it is for certain, and how it is stored.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) shape: Vec<u64>,
    pub(super) iterators: Vec<Option<usize>>,
    pub(super) format: Format,
    pub(super) tensor: Tensor,
}

/// A product: a number, elements of operands, which of these are positions of which iterator, and what is not negative.
#[derive(Clone, Debug, Default)]
pub(super) struct Term {
    pub(super) number: f64,
    pub(super) factors: Vec<(usize, Vec<Sum>)>,
    pub(super) positions: Vec<Option<usize>>,
    pub(super) conditions: Vec<Sum>,
    pub(super) defined: Option<Defined>,
}

/// An iterator that is the quotient of a sum by a number, or the remainder.
#[derive(Clone, Debug)]
pub(super) struct Defined {
    iterator: usize,
    of: Sum,
    by: i64,
    remainder: bool,
}

/// A kernel in numbers: extents of iterators, operands, products.
#[derive(Clone, Debug)]
pub(super) struct RandomKernel {
    pub(super) extents: Vec<u64>,
    pub(super) operands: Vec<Stored>,
    pub(super) products: Vec<Term>,
    pub(super) head: Vec<usize>,
    pub(super) order: Vec<usize>,
    pub(super) walking: Walking,
    pub(super) semiring: Semiring,
}

/// The module of a case, walks not lowered, and the symbols' values.
pub(super) fn module_of(case: &RandomKernel) -> (Module, Result<(), IterateError>, Vec<i64>) {
    let (mut module, kernel, symbols) = kernel_of(case);
    let compiled = compile(&mut module, "kernel", &kernel);
    (module, compiled, symbols)
}

/// The kernel of a case, in a module without functions, and the symbols' values.
pub(super) fn kernel_of(case: &RandomKernel) -> (Module, Kernel, Vec<i64>) {
    let mut module = Module::default();
    let mut symbols = Vec::new();
    let mut iterators = Vec::new();
    for (at, extent) in case.extents.iter().enumerate() {
        let name = ["i", "j", "k", "l"][at].to_owned();
        iterators.push((name.clone(), Index::Symbol(module.symbol(&name.to_uppercase()))));
        symbols.push(*extent as i64);
    }
    let size = case.head.iter().map(|at| iterators[*at].1.clone()).reduce(|a, b| a * b);
    let result = module.buffer("result", Element::F64, size.unwrap_or(Index::Const(1)));
    let mut operands = Vec::new();
    for (at, stored) in case.operands.iter().enumerate() {
        let name = ["A", "B", "C"][at];
        let dimensions = stored.shape.iter().zip(&stored.iterators).enumerate();
        let mut extents = Vec::new();
        for (dimension, (size, iterator)) in dimensions {
            extents.push(match iterator {
                Some(iterator) => iterators[*iterator].1.clone(),
                None => {
                    symbols.push(*size as i64);
                    Index::Symbol(module.symbol(&format!("{name}.size{dimension}")))
                }
            });
        }
        let types = (Element::F64, Element::U32);
        operands.push(Operand::declare(&mut module, name, (&stored.format, extents), types));
        for level in stored.tensor.levels() {
            if let (Some(_), Some(coordinates)) = (level.positions(), level.coordinates()) {
                symbols.push(coordinates.len() as i64);
            }
        }
    }
    let linear = |(terms, constant): &Sum| Linear::new(terms.clone(), Index::Const(*constant));
    let factor = |term: &Term, at: usize| {
        let (operand, subscripts) = &term.factors[at];
        let position = term.positions.get(at).copied().flatten();
        let subscripts = subscripts.iter().map(linear).collect();
        Factor { position, ..Factor::value(*operand, subscripts) }
    };
    let definition = |Defined { iterator, of: (terms, constant), by, remainder }: &Defined| {
        let one = |(at, factor): &(usize, i64)| Index::Var(VarId(*at as u32)) * *factor;
        let sum = terms.iter().map(one).fold(Index::Const(*constant), |sum, term| sum + term);
        (*iterator, if *remainder { sum.modulo(*by) } else { sum.floor_div(*by) })
    };
    let product = |term: &Term| Product {
        coefficient: term.number,
        factors: (0..term.factors.len()).map(|at| factor(term, at)).collect(),
        conditions: term.conditions.iter().map(linear).collect(),
        defined: term.defined.iter().map(definition).collect(),
        ..Product::default()
    };
    let products = case.products.iter().map(product).collect();
    let (head, order, walking) = (case.head.clone(), case.order.clone(), case.walking);
    let place = Kernel::in_rows(&iterators, &head);
    let semiring = case.semiring;
    let unsplit = None;
    let kernel = Kernel {
        reserves: false,
        iterators,
        operands,
        result,
        head,
        place,
        products,
        order,
        unsplit,
        walking,
        semiring,
        zero: semiring.zero(),
        gathers: None,
    };
    (module, kernel, symbols)
}

pub(super) fn ints(indices: &Indices) -> Data {
    Data::Int(indices.iter().map(|at| at as i64).collect())
}

pub(super) fn run(module: &Module, case: &RandomKernel, symbols: &[i64]) -> Vec<f64> {
    let size: u64 = case.head.iter().map(|at| case.extents[*at]).product();
    let mut data = vec![Data::Float(vec![9.0; size as usize])];
    data.extend(inputs(case));
    interp::run(module, "kernel", symbols, &mut data)
        .map_err(|error| format!("{error}\n{module}"))
        .unwrap();
    data[0].as_float().unwrap().to_vec()
}

/// The buffers of the operands.
pub(super) fn inputs(case: &RandomKernel) -> Vec<Data> {
    let mut data = Vec::new();
    for Stored { tensor, .. } in &case.operands {
        data.extend(tensor.levels().iter().flat_map(LevelData::arrays).map(ints));
        data.push(Data::Float(tensor.values().to_f64()));
    }
    data
}

/// By loops over all iterators of each product and the head.
pub(super) fn expected(case: &RandomKernel) -> Vec<f64> {
    let size: u64 = case.head.iter().map(|at| case.extents[*at]).product();
    let semiring = case.semiring;
    let mut result = vec![semiring.zero(); size as usize];
    each_point(case, &mut |element, value, _| {
        let dimensions = element.iter().zip(&case.head);
        let place = dimensions.fold(0, |place, (at, it)| place * case.extents[*it] + at);
        result[place as usize] = semiring.add(result[place as usize], value);
    });
    result
}

/// The points of all products: the element of the result, the value, and whether all factors are stored.
pub(super) fn each_point(case: &RandomKernel, call: &mut dyn FnMut(&[u64], f64, bool)) {
    let semiring = case.semiring;
    for term in &case.products {
        let subscripts = term.factors.iter().flat_map(|(_, subscripts)| subscripts);
        let defined = term.defined.iter();
        let sums = subscripts.chain(&term.conditions).chain(defined.clone().map(|one| &one.of));
        let terms: Vec<(usize, i64)> = sums.flat_map(|(terms, _)| terms.clone()).collect();
        let used: Vec<usize> = (0..case.extents.len())
            .filter(|at| {
                case.head.contains(at)
                    || terms.iter().any(|(other, _)| other == at)
                    || term.positions.contains(&Some(*at))
                    || defined.clone().any(|one| one.iterator == *at)
            })
            .collect();
        let count: u64 = used.iter().map(|at| case.extents[*at]).product();
        'points: for mut nth in 0..count {
            let mut at = BTreeMap::new();
            for iterator in &used {
                at.insert(*iterator, nth % case.extents[*iterator]);
                nth /= case.extents[*iterator];
            }
            let value_of = |(terms, constant): &Sum| {
                terms.iter().fold(*constant, |sum, (it, by)| sum + by * at[it] as i64)
            };
            if term.conditions.iter().any(|condition| value_of(condition) < 0) {
                continue;
            }
            if let Some(one) = &term.defined {
                let of = value_of(&one.of);
                let value = match one.remainder {
                    true => of.rem_euclid(one.by),
                    false => of.div_euclid(one.by),
                };
                if at[&one.iterator] as i64 != value {
                    continue;
                }
            }
            let mut value = semiring.multiply(semiring.one(), term.number);
            let mut stored = true;
            for (nth, (operand, subscripts)) in term.factors.iter().enumerate() {
                let Stored { shape, tensor, .. } = &case.operands[*operand];
                let element: Vec<i64> = subscripts.iter().map(value_of).collect();
                let inside = element.iter().zip(shape).all(|(at, n)| (0..*n as i64).contains(at));
                let element: Vec<u64> = element.into_iter().map(|at| at as u64).collect();
                let found = inside.then(|| tensor.get(&element)).flatten();
                if let Some(Some(iterator)) = term.positions.get(nth) {
                    let positions = inside.then(|| tensor.positions_of(&element));
                    if positions.unwrap_or_default() != [at[iterator] as usize] {
                        continue 'points;
                    }
                    continue;
                }
                stored &= found.is_some();
                let factor = match found {
                    Some(dastac_elements::Scalar::F64(value)) => value,
                    None => semiring.zero(),
                    _ => panic!(),
                };
                value = semiring.multiply(value, factor);
            }
            let element: Vec<u64> = case.head.iter().map(|it| at[it]).collect();
            call(&element, value, stored);
        }
    }
}

pub(super) fn tensor(shape: Vec<u64>, format: &Format, seed: usize) -> Tensor {
    let count: u64 = shape.iter().product();
    let (mut coordinates, mut values) = (Vec::new(), Vec::new());
    for at in 0..count {
        // Some rows are empty, some full.
        let chosen = (at as usize).wrapping_mul(seed * 2 + 3) % 7;
        if chosen > seed % 6 {
            continue;
        }
        let mut rest = at;
        let mut element: Vec<u64> = shape
            .iter()
            .rev()
            .map(|extent| {
                let here = rest % extent;
                rest /= extent;
                here
            })
            .collect();
        element.reverse();
        coordinates.extend(element);
        values.push((at as usize * 5 + seed) as f64 % 7.0 - 3.0);
    }
    let entries = Entries::new(shape, coordinates, Storage::from(values)).unwrap();
    Tensor::from_entries(&entries, format, Build::default()).unwrap()
}

pub(super) fn cases() -> impl Strategy<Value = RandomKernel> {
    let extents = prop::collection::vec(0u64..6, 4);
    // A subscript: mostly an iterator alone.
    let simple = (0usize..4).prop_map(|at| (vec![(at, 1i64)], 0i64));
    let term = || (0usize..4, prop::sample::select(vec![-2i64, -1, 1, 1, 1, 2, 3]));
    let sum = || {
        (prop::collection::vec(term(), 0..4), -2i64..3).prop_map(|(terms, constant)| {
            let linear = Linear::new(terms, Index::Const(0));
            (linear.terms().to_vec(), constant)
        })
    };
    let subscript = prop_oneof![3 => simple, 2 => sum()];
    let operand = (
        prop::collection::vec(subscript, 1..=3),
        prop::collection::vec(0usize..7, 3),
        Just(vec![0usize, 1, 2]).prop_shuffle(),
        (prop::collection::vec(0u64..8, 3), prop::collection::vec(0usize..4, 3)),
        0usize..20,
    );
    let operands = prop::collection::vec(operand, 1..4);
    let conditions = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(sum(), 1..3)];
    // Mostly at the operand's own subscripts.
    let at = prop_oneof![3 => Just(None), 1 => (0usize..3).prop_map(Some)];
    let factors = prop::collection::vec((0usize..3, at), 1..4);
    let position = prop_oneof![5 => Just(None), 1 => (0usize..4).prop_map(Some)];
    let positions = prop::collection::vec(position, 3);
    let defined = (0usize..4, sum(), 2i64..4, any::<bool>()).prop_map(
        |(iterator, (terms, constant), by, remainder)| {
            let of = (terms.into_iter().filter(|(at, _)| *at != iterator).collect(), constant);
            Defined { iterator, of, by, remainder }
        },
    );
    let defined = prop_oneof![4 => Just(None), 1 => defined.prop_map(Some)];
    let number = prop::sample::select(vec![1.0, -2.0]);
    let product = (number, (factors, positions), (conditions, defined));
    let products = prop::collection::vec(product, 1..4);
    let head = prop::sample::subsequence(vec![0usize, 1, 2, 3], 0..=3).prop_shuffle();
    let order = Just(vec![0usize, 1, 2, 3]).prop_shuffle();
    let walking = prop::sample::select(vec![
        Walking::Subsections,
        Walking::Subsections,
        Walking::Search,
        Walking::Locate,
    ]);
    let semiring = prop_oneof![
        2 => Just(Semiring::SumTimes),
        3 => prop::sample::select(Semiring::ALL.to_vec()),
    ];
    (extents, operands, products, head, order, (walking, semiring)).prop_map(
        |(extents, operands, products, head, order, (walking, semiring))| {
            let mut subscripts = Vec::new();
            let mut stored = Vec::new();
            for (sums, kinds, order, (sizes, own), seed) in operands {
                let rank = sums.len();
                let order: Vec<usize> = order.into_iter().filter(|at| *at < rank).collect();
                let format = format(&kinds, &order, seed);
                // The extent of an iterator alone, for certain or by chance, or another.
                let iterator = |at: usize| match &sums[at] {
                    (terms, 0) if terms.len() == 1 && terms[0].1 == 1 && own[at] > 0 => {
                        Some(terms[0].0)
                    }
                    _ => None,
                };
                let iterators: Vec<Option<usize>> = (0..rank).map(iterator).collect();
                let size = |at: usize| iterators[at].map_or(sizes[at], |it| extents[it]);
                let shape: Vec<u64> = (0..rank).map(size).collect();
                let tensor = tensor(shape.clone(), &format, seed);
                subscripts.push(sums);
                stored.push(Stored { shape, iterators, format, tensor });
            }
            let products = products.into_iter().map(
                |(number, (factors, positions), (conditions, defined))| {
                    let factor = |(at, of): (usize, Option<usize>)| {
                        let (at, of) = (at % stored.len(), of.unwrap_or(at) % stored.len());
                        let fits = subscripts[of].len() == subscripts[at].len();
                        (at, subscripts[if fits { of } else { at }].clone())
                    };
                    let factors: Vec<_> = factors.into_iter().map(factor).collect();
                    let positions = positions[..factors.len()].to_vec();
                    Term { number, factors, positions, conditions, defined }
                },
            );
            let products = products.collect();
            RandomKernel { extents, operands: stored, products, head, order, walking, semiring }
        },
    )
}

/// A format over a permutation of the dimensions, blocks of the first of them, or diagonals of the first two.
fn format(kinds: &[usize], order: &[usize], seed: usize) -> Format {
    let own = |at: usize| LevelExpr::dimension(order[at]);
    let mut exprs: Vec<LevelExpr> = (0..order.len()).map(own).collect();
    let mut derived = Vec::new();
    match (seed % 10, order.len()) {
        (0, _) => {
            exprs[0] = own(0).quotient(2).unwrap();
            exprs.push(own(0).remainder(2).unwrap());
        }
        (1 | 2, 2..) => {
            exprs[1] = own(1).plus(&own(0).times(-1).unwrap()).unwrap();
            derived.extend((seed % 10 == 2).then(|| own(1)));
        }
        _ => {}
    }
    let mut levels = levels(&kinds.iter().cycle().copied().take(exprs.len()).collect::<Vec<_>>());
    levels.extend(derived.iter().map(|_| Level::OFFSET));
    let map = IndexMap::new(order.len(), [exprs, derived].concat()).unwrap();
    Format::with_map(levels, map).unwrap()
}

/// Levels that can be above each other, by numbers.
fn levels(kinds: &[usize]) -> Vec<Level> {
    let compressed = |ordered, unique| Level { ordered, unique, ..Level::COMPRESSED };
    let singleton = |ordered, unique| Level { ordered, unique, ..Level::SINGLETON };
    let mut levels: Vec<Level> = Vec::new();
    for (at, kind) in kinds.iter().enumerate() {
        let last = at + 1 == kinds.len();
        let below_repeated = levels.last().is_some_and(|level| !level.unique);
        levels.push(match (below_repeated, kind) {
            (true, 0 | 1) if !last => singleton(true, false),
            (true, kind) => singleton(*kind != 6, true),
            (false, 0 | 1) => Level::DENSE,
            (false, 2) => Level::BITMAP,
            (false, 3) if !last => compressed(true, false),
            (false, 6) if at == 0 => compressed(false, true),
            _ => Level::COMPRESSED,
        });
    }
    levels
}

proptest! {
    #![proptest_config(super::config(4000))]

    #[test]
    fn kernels_compute_their_expressions(case in cases()) {
        let (module, compiled, symbols) = module_of(&case);
        match compiled {
            Err(IterateError::Cycle { .. }) => return Ok(()),
            Err(IterateError::Level { .. } | IterateError::Map { .. }) => return Ok(()),
            Err(IterateError::Cursors(count)) if count > MOST_CURSORS => return Ok(()),
            other => prop_assert_eq!(other, Ok(()), "{:?}", case),
        }
        prop_assert_eq!(verify(&module), Ok(()), "{}", module);
        let wanted = expected(&case);
        prop_assert_eq!(&run(&module, &case, &symbols), &wanted, "{}", module);
        let mut lowered = module.clone();
        lower(&mut lowered);
        prop_assert_eq!(verify(&lowered), Ok(()), "{}", lowered);
        prop_assert_eq!(&run(&lowered, &case, &symbols), &wanted, "{}\n{}", module, lowered);
    }
}

/// A subscript: an iterator.
pub(super) fn it(at: usize) -> Sum {
    (vec![(at, 1)], 0)
}

/// What a product's factors are: operands with subscripts and formats by code. Extents are those that all subscripts
/// reach.
fn shown(
    operands: &[(&[Sum], &str)],
    products: &[&[usize]],
    head: &[usize],
    order: &[usize],
) -> String {
    let extents = vec![4, 5, 3, 2];
    let stored = operands.iter().map(|(subscripts, code)| {
        let format =
            dastac_formats::format::parse(code, &["i", "j", "k"][..subscripts.len()]).unwrap();
        let reach = |(terms, constant): &Sum| {
            let most = terms.iter().map(|(at, by)| by.max(&0) * (extents[*at] as i64 - 1));
            (most.sum::<i64>() + constant + 1) as u64
        };
        let shape: Vec<u64> = subscripts.iter().map(reach).collect();
        let simple = |(terms, constant): &Sum| match (&terms[..], constant) {
            ([(at, 1)], 0) => Some(*at),
            _ => None,
        };
        let iterators = subscripts.iter().map(simple).collect();
        let tensor = tensor(shape.clone(), &format, 2);
        Stored { shape, iterators, format, tensor }
    });
    let factor = |at: &usize| (*at, operands[*at].0.to_vec());
    let term = |product: &&[usize]| Term {
        number: 1.0,
        factors: product.iter().map(factor).collect(),
        ..Term::default()
    };
    let case = RandomKernel {
        operands: stored.collect(),
        products: products.iter().map(term).collect(),
        head: head.to_vec(),
        order: order.to_vec(),
        extents: extents.clone(),
        walking: Walking::default(),
        semiring: Semiring::default(),
    };
    let (module, compiled, symbols) = module_of(&case);
    if let Err(error) = compiled {
        return error.to_string();
    }
    let mut module = module;
    dastac_loops::passes::simplify(&mut module);
    assert_eq!(run(&module, &case, &symbols), expected(&case), "{module}");
    module.functions[0].to_string()
}

#[test]
fn kernels_look_as_they_should() {
    let csr: (&[Sum], &str) = (&[it(0), it(1)], "csr");
    // A matrix times a vector, and times a matrix.
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4) {
          parallel i = 0 to p0 {
            b0[i] = sum(pj = b1[i] to b1[i + 1]) b3[pj] * b4[b2[pj]]
          }
        }
    "#]]
    .assert_eq(&shown(&[csr, (&[it(1)], "D")], &[&[0, 1]], &[0], &[0, 1, 2, 3]));
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4) {
          parallel i = 0 to p0 {
            parallel k = 0 to p2 {
              b0[i * p2 + k] = sum(pj = b1[i] to b1[i + 1]) b3[pj] * b4[b2[pj] * p2 + k]
            }
          }
        }
    "#]]
    .assert_eq(&shown(&[csr, (&[it(1), it(2)], "DD")], &[&[0, 1]], &[0, 2], &[0, 2, 1, 3]));
    // Columns first: the loop over columns goes outside.
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4) {
          parallel i = 0 to p0 {
            b0[i] = 0.0
          }
          for j = 0 to p1 {
            parallel pi = b1[j] to b1[j + 1] {
              b0[b2[pi]] += b3[pi] * b4[j]
            }
          }
        }
    "#]]
    .assert_eq(&shown(
        &[(&[it(0), it(1)], "csc"), (&[it(1)], "D")],
        &[&[0, 1]],
        &[0],
        &[0, 1, 2, 3],
    ));
    // A sparse vector, and a sum.
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4, in b5, in b6) {
          parallel i = 0 to p0 {
            b0[i] = 0.0
          }
          parallel i = 0 to p0 {
            coiter j = 0 to p1 over pj = b1[i] to b1[i + 1] at b2[pj] within, pj_1 = b4[0] to b4[1] at b5[pj_1] within {
              case pj, pj_1 {
                b0[i] += b3[pj] * b6[pj_1]
              }
            }
          }
        }
    "#]].assert_eq(&shown(
        &[csr, (&[it(1)], "C")],
        &[&[0, 1]],
        &[0],
        &[0, 1, 2, 3],
    ));
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4, in b5, in b6, in b7, in b8) {
          parallel i = 0 to p0 {
            parallel j = 0 to p1 {
              b0[i * p1 + j] = 0.0
            }
          }
          partition begin, end = 0 to p0 {
            coiter i = begin to end over pi = b4[0] to b4[1] at b5[pi] {
              case pi {
                coiter j = 0 to p1 over pj = b1[i] to b1[i + 1] at b2[pj] within, pj_1 = b6[pi] to b6[pi + 1] at b7[pj_1] within {
                  case pj, pj_1 {
                    b0[i * p1 + j] += b3[pj] + b8[pj_1]
                  }
                  case pj {
                    b0[i * p1 + j] += b3[pj]
                  }
                  case pj_1 {
                    b0[i * p1 + j] += b8[pj_1]
                  }
                }
              }
              case {
                parallel pj = b1[i] to b1[i + 1] {
                  b0[i * p1 + b2[pj]] += b3[pj]
                }
              }
            }
          }
        }
    "#]].assert_eq(&shown(
        &[csr, (&[it(0), it(1)], "csf")],
        &[&[0], &[1]],
        &[0, 1],
        &[0, 1, 2, 3],
    ));
    // Convolutions: `O(i) += I(i + j) * F(j)`, over what is not empty, and with `j` outside.
    let signal: (&[Sum], &str) = (&[(vec![(0, 1), (1, 1)], 0)], "C");
    let filter: (&[Sum], &str) = (&[it(1)], "D");
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4) {
          parallel i = 0 to p0 {
            b0[i] = 0.0
          }
          partition begin, end = 0 to p0 {
            coiter i = begin to end over pi = b1[0] to b1[1] at b2[pi] width p1 {
              case pi {
                coiter j = 0 to p1 over pj = pi to b1[1] at b2[pj] - i above {
                  case pj {
                    b0[i] += b3[pj] * b4[j]
                  }
                }
              }
            }
          }
        }
    "#]]
    .assert_eq(&shown(&[signal, filter], &[&[0, 1]], &[0], &[0, 1, 2, 3]));
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4) {
          parallel i = 0 to p0 {
            b0[i] = 0.0
          }
          coiter j = 0 to p1 over pj = b1[0] to b1[1] at b2[pj] width p0 above {
            case pj {
              coiter i = 0 to p0 over pi = pj to b1[1] at b2[pi] - j above {
                case pi {
                  b0[i] += b3[pi] * b4[j]
                }
              }
            }
          }
        }
    "#]]
    .assert_eq(&shown(&[signal, filter], &[&[0, 1]], &[0], &[1, 0, 2, 3]));
    // The same in two dimensions: rows are resolved before columns are reduced.
    let image: (&[Sum], &str) = (&[(vec![(0, 1), (2, 1)], 0), (vec![(1, 1), (3, 1)], 0)], "CC");
    let filter: (&[Sum], &str) = (&[it(2), it(3)], "DD");
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4, in b5, in b6) {
          parallel i = 0 to p0 {
            parallel j = 0 to p1 {
              b0[i * p1 + j] = 0.0
            }
          }
          partition begin, end = 0 to p0 {
            coiter i = begin to end over pi = b1[0] to b1[1] at b2[pi] width p2 {
              case pi {
                coiter k = 0 to p2 over pk = pi to b1[1] at b2[pk] - i above {
                  case pk {
                    coiter j = 0 to p1 over pj = b3[pk] to b3[pk + 1] at b4[pj] width p3 above {
                      case pj {
                        coiter l = 0 to p3 over pl = pj to b3[pk + 1] at b4[pl] - j above {
                          case pl {
                            b0[i * p1 + j] += b5[pl] * b6[k * p3 + l]
                          }
                        }
                      }
                    }
                  }
                }
              }
            }
          }
        }
    "#]]
    .assert_eq(&shown(&[image, filter], &[&[0, 1]], &[0, 1], &[0, 2, 1, 3]));
    // Columns are reduced before rows are resolved: the windows of several rows stand in memory.
    expect_test::expect![[r#"
        func kernel(out b0, in b1, in b2, in b3, in b4, in b5, in b6) {
          parallel i = 0 to p0 {
            parallel j = 0 to p1 {
              b0[i * p1 + j] = 0.0
            }
          }
          partition begin, end = 0 to p0 {
            coiter i = begin to end over pi = b1[0] to b1[1] at b2[pi] width p2 {
              case pi {
                with b7 of p2 {
                  with b8 of 2 {
                    while p = pi if p < b1[1] and b2[p] <= i + (p2 - 1) {
                      b7[p - pi] = index(b3[p])
                    } then p + 1
                    while from = 0 if from < p1 and 0 < p3 {
                      b8[0] = index(2305843009213693952)
                      while p = pi if p < b1[1] and b2[p] <= i + (p2 - 1) {
                        let start = b7[p - pi] {
                          while p_1 = start if p_1 < b3[p + 1] and b4[p_1] < from {
                          } then p_1 + 1 after {
                            b7[p - pi] = index(p_1)
                            if p_1 < b3[p + 1] {
                              let near = b8[0] {
                                b8[0] = index(min(near, b4[p_1]))
                              }
                            }
                          }
                        }
                      } then p + 1
                      let near = b8[0] {
                        for j = max(from, near - p3 + 1) to min(p1, near + 1) {
                          coiter k = 0 to p2 over pk = pi to b1[1] at b2[pk] - i above {
                            case pk {
                              let start = b7[pk - pi] {
                                coiter l = 0 to p3 over pl = start to b3[pk + 1] at b4[pl] - j above {
                                  case pl {
                                    b0[i * p1 + j] += b5[pl] * b6[k * p3 + l]
                                  }
                                }
                              }
                            }
                          }
                        }
                        b8[1] = index(near + 1)
                      }
                    } then b8[1]
                  }
                }
              }
            }
          }
        }
    "#]].assert_eq(&shown(
        &[image, filter],
        &[&[0, 1]],
        &[0, 1],
        &[0, 1, 2, 3],
    ));
    // A contradiction.
    expect_test::expect!["no order of the loops walks 0, 1 from its first level on"]
        .assert_eq(&shown(&[csr, (&[it(0), it(1)], "csc")], &[&[0, 1]], &[0], &[0, 1, 2, 3]));
}
