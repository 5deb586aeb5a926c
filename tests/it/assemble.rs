//! Results in formats, by machine code: counted, allocated and filled, on one thread and several.

use std::collections::BTreeMap;

use dastac::backend::{BufferArg, Jit, Options, compile};
use dastac::loops::{BufferId, Element, Index, Module, VarId, verify};
use dastac::sparse::format::{self, Format};
use dastac::sparse::iterate::{
    Arrays, Assembly, Factor, Integers, Kernel, Linear, Operand, Product, Structure, Walking,
    assemble, lower,
};
use dastac::sparse::storage::{LevelData, Scalar};
use dastac::sparse::{Build, Entries, Tensor, Values};
use dastac::stur::semiring::Semiring;

/// `R(head) += sum of products` over operands, whose factors are subscripted by iterators.
struct Case<'a> {
    extents: &'a [u64],
    operands: &'a [(&'a [usize], &'a Tensor)],
    products: &'a [&'a [usize]],
    head: &'a [usize],
    code: &'a str,
    indices: Element,
}

fn letters(rank: usize) -> Vec<String> {
    ["i", "j", "k", "l"][..rank].iter().map(ToString::to_string).collect()
}

fn format(code: &str, rank: usize) -> Format {
    format::parse(code, &letters(rank)).unwrap()
}

/// The module, what assembles the result, and the symbols' values.
fn module(case: &Case<'_>) -> (Module, Assembly, Vec<i64>) {
    let (mut module, mut symbols, mut iterators) = (Module::default(), Vec::new(), Vec::new());
    for (extent, name) in case.extents.iter().zip(letters(case.extents.len())) {
        iterators.push((name.clone(), Index::Symbol(module.symbol(&name.to_uppercase()))));
        symbols.push(*extent as i64);
    }
    let shape = |list: &[usize]| list.iter().map(|at| iterators[*at].1.clone()).collect();
    let mut operands = Vec::new();
    for (at, (subscripts, tensor)) in case.operands.iter().enumerate() {
        let (name, dimensions) = (["A", "B", "C"][at], (tensor.format(), shape(subscripts)));
        let types = (Element::F64, case.indices);
        operands.push(Operand::declare(&mut module, name, dimensions, types));
        symbols.extend(counts(tensor));
    }
    let factor = |operand: &usize| {
        let subscripts = case.operands[*operand].0.iter();
        Factor::value(*operand, subscripts.map(|at| Linear::iterator(*at)).collect())
    };
    let product = |list: &&[usize]| Product::of(1.0, list.iter().map(factor).collect());
    let products = case.products.iter().map(product).collect();
    let (head, order) = (case.head.to_vec(), (0..iterators.len()).collect());
    let dimensions = (&format(case.code, head.len()), shape(&head));
    let result = Operand::declare(&mut module, "R", dimensions, (Element::F64, case.indices));
    symbols.resize(module.symbols.len(), 0);
    let (walking, semiring) = (Walking::default(), Semiring::default());
    let (place, values) = (Index::Var(VarId(0)), result.values);
    let kernel = Kernel {
        iterators,
        operands,
        result: values,
        head,
        place,
        products,
        order,
        walking,
        semiring,
    };
    let assembly = assemble(&mut module, "kernel", &kernel, &result).unwrap();
    lower(&mut module);
    assert_eq!(verify(&module), Ok(()), "{module}");
    (module, assembly, symbols)
}

fn counts(tensor: &Tensor) -> impl Iterator<Item = i64> {
    tensor.levels().iter().filter_map(|level| match level {
        LevelData::Compressed { coordinates, .. } => Some(coordinates.len() as i64),
        _ => None,
    })
}

/// The arrays of a tensor, wide ones for functions that take these.
fn wide(tensor: &Tensor) -> Vec<Vec<i64>> {
    let indices = tensor.levels().iter().flat_map(|level| match level {
        LevelData::Dense => Vec::new(),
        LevelData::Compressed { positions, coordinates } => vec![positions, coordinates],
        LevelData::Singleton { coordinates } => vec![coordinates],
    });
    indices.map(|list| list.iter().map(|at| at as i64).collect()).collect()
}

fn result(case: &Case<'_>, parallel: bool) -> Tensor {
    let (module, assembly, mut symbols) = module(case);
    let options = Options { parallel, ..Options::default() };
    let jit = Jit::load(&compile(&module, &options).unwrap()).unwrap();
    jit.set_threads(3);
    let size = |id: &BufferId, symbols: &[i64]| {
        module.buffers[id.0 as usize].size.eval_symbols(symbols).unwrap() as usize
    };
    let all: Vec<Vec<Vec<i64>>> = case.operands.iter().map(|(_, tensor)| wide(tensor)).collect();
    let narrow = |list: &Vec<i64>| list.iter().map(|x| *x as u32).collect::<Vec<u32>>();
    let thin: Vec<Vec<Vec<u32>>> =
        all.iter().map(|lists| lists.iter().map(narrow).collect()).collect();
    let inputs = || {
        let mut arguments: Vec<BufferArg<'_>> = Vec::new();
        for (at, (_, tensor)) in case.operands.iter().enumerate() {
            match case.indices {
                Element::U32 => arguments.extend(thin[at].iter().map(|x| BufferArg::U32In(x))),
                _ => arguments.extend(all[at].iter().map(|x| BufferArg::I64In(x))),
            }
            let Values::F64(values) = tensor.values() else { panic!() };
            arguments.push(BufferArg::F64In(values));
        }
        arguments
    };
    let mut starts: Vec<Vec<i64>> = Vec::new();
    let mut copied = None;
    match &assembly.structure {
        Structure::Dense => {}
        Structure::Copied { operand } => {
            copied = Some(case.operands[*operand].1);
        }
        Structure::Counted { count, starts: buffers } => {
            starts = buffers.iter().map(|id| vec![-1; size(id, &symbols)]).collect();
            let outputs = starts.iter_mut().map(|list| BufferArg::I64(list));
            let mut arguments: Vec<_> = outputs.chain(inputs()).collect();
            jit.call(count, &symbols, &mut arguments).unwrap();
            let lists: Vec<&[i64]> = starts.iter().map(Vec::as_slice).collect();
            for (symbol, value) in assembly.counts(&lists) {
                symbols[symbol.0 as usize] = value;
            }
        }
    }
    let mut arrays = Arrays::new(&module, &assembly, &symbols).unwrap();
    let Values::F64(values) = &mut arrays.values else { panic!() };
    let integers = arrays.integers.iter_mut().map(|integers| match integers {
        Integers::U32(list) => BufferArg::U32(list),
        Integers::I64(list) => BufferArg::I64(list),
    });
    let mut arguments: Vec<_> = integers.chain([BufferArg::F64(values)]).collect();
    arguments.extend(starts.iter().map(|list| BufferArg::I64In(list)));
    arguments.extend(inputs());
    jit.call(&assembly.name, &symbols, &mut arguments).unwrap();
    let shape = case.head.iter().map(|at| case.extents[*at]).collect();
    arrays.into_tensor(&assembly, shape, copied).unwrap()
}

/// A tensor with a part of its elements.
fn tensor(shape: &[u64], code: &str, seed: u64) -> Tensor {
    let count: u64 = shape.iter().product();
    let (mut coordinates, mut values) = (Vec::new(), Vec::new());
    for at in 0..count {
        let hash = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 + 2 * seed) >> 32;
        if !hash.is_multiple_of(5) {
            continue;
        }
        let mut rest = at;
        let mut element: Vec<u64> = shape
            .iter()
            .rev()
            .map(|n| {
                let here = rest % n;
                rest /= n;
                here
            })
            .collect();
        element.reverse();
        coordinates.extend(element);
        values.push((hash % 13) as f64 + 1.0);
    }
    let entries = Entries::new(shape.to_vec(), coordinates, Values::F64(values)).unwrap();
    Tensor::from_entries(&entries, &format(code, shape.len()), Build::default()).unwrap()
}

fn element(tensor: &Tensor, at: &[u64]) -> Option<f64> {
    match tensor.get(at) {
        Some(Scalar::F64(value)) => Some(value),
        _ => None,
    }
}

/// What a case computes at stored elements of all of a product's operands, by loops over everything.
fn expected(case: &Case<'_>) -> BTreeMap<Vec<u64>, f64> {
    let mut sums = BTreeMap::new();
    let count: u64 = case.extents.iter().product();
    for nth in 0..count {
        let mut rest = nth;
        let at: Vec<u64> = case
            .extents
            .iter()
            .map(|n| {
                let here = rest % n;
                rest /= n;
                here
            })
            .collect();
        for factors in case.products {
            let product = factors.iter().try_fold(1.0, |product, operand| {
                let (subscripts, tensor) = case.operands[*operand];
                let place: Vec<u64> = subscripts.iter().map(|it| at[*it]).collect();
                Some(product * element(tensor, &place)?)
            });
            if let Some(product) = product {
                let place: Vec<u64> = case.head.iter().map(|it| at[*it]).collect();
                *sums.entry(place).or_insert(0.0) += product;
            }
        }
    }
    sums
}

#[test]
fn results_in_formats() {
    let shape = [23, 31];
    for indices in [Element::U32, Element::I64] {
        for code in ["csr", "dcsr", "csc"] {
            let [a, b] = [1, 2].map(|seed| tensor(&shape, code, seed));
            let plane: &[usize] = &[0, 1];
            let operands = &[(plane, &a), (plane, &b)];
            for products in [&[&[0usize][..], &[1]][..], &[&[0, 1]], &[&[0]]] {
                check(&Case { extents: &shape, operands, products, head: &[0, 1], code, indices });
            }
        }
        // Inner products of rows and columns, a product masked by a matrix, and slices of rows that are stored.
        let (a, b) = (tensor(&[17, 12], "csr", 3), tensor(&[12, 19], "csc", 4));
        let (rows, columns, result): (&[usize], &[usize], &[usize]) = (&[0, 2], &[2, 1], &[0, 1]);
        let extents = &[17, 19, 12];
        for code in ["csr", "dcsr", "CD"] {
            let operands = &[(rows, &a), (columns, &b)];
            check(&Case { extents, operands, products: &[&[0, 1]], head: result, code, indices });
        }
        let (mask, a, b) =
            (tensor(&[17, 19], "csr", 5), tensor(&[17, 12], "DD", 6), tensor(&[12, 19], "DD", 7));
        let operands = &[(result, &mask), (rows, &a), (columns, &b)];
        let products: &[&[usize]] = &[&[0, 1, 2]];
        check(&Case { extents, operands, products, head: result, code: "csr", indices });
        let shape = [5, 9, 14];
        let [a, b] = [8, 9].map(|seed| tensor(&shape, "DCC", seed));
        let cube: &[usize] = &[0, 1, 2];
        let (operands, products): (_, &[&[usize]]) = (&[(cube, &a), (cube, &b)], &[&[0], &[1]]);
        for code in ["DCC", "CCC", "CDC", "DCD"] {
            check(&Case { extents: &shape, operands, products, head: cube, code, indices });
        }
    }
}

/// Compares a result with loops over everything; there are no zeros, but for those in blocks and of dense operands.
fn check(case: &Case<'_>) {
    let wanted = expected(case);
    for parallel in [false, true] {
        let found = result(case, parallel);
        assert_eq!(found.format(), &format(case.code, case.head.len()));
        let mut entries = BTreeMap::new();
        found.for_each(|at, position| {
            let Values::F64(values) = found.values() else { panic!() };
            entries.insert(at.to_vec(), values[position]);
        });
        entries.retain(|at, value| *value != 0.0 || !wanted.contains_key(at));
        let nonzero: BTreeMap<_, _> = wanted.iter().filter(|(_, x)| **x != 0.0).collect();
        assert_eq!(entries.iter().collect::<BTreeMap<_, _>>(), nonzero, "{}", case.code);
    }
}
