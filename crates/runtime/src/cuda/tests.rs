//! What the host does, on a device that only remembers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use dastac_elements::Element;
use dastac_loops::abi::Signature;
use dastac_loops::{BufferId, Compare, Condition, Index, Mode, SymbolId, VarId};
use dastac_target::launch::{Allocate, Grid, HostFunction, Kernel, Launch, Longest, Repeat, Step};

use super::CudaError;
use super::steps::{self, Device};
use crate::argument::Argument;

/// A kernel, its blocks and lanes, and its arguments.
type Launched = (usize, [u32; 3], Vec<u64>);

/// Memory by its address; a kernel adds its first integer to all bytes of its last buffer.
#[derive(Default)]
struct Remembers {
    memory: RefCell<BTreeMap<u64, Vec<u8>>>,
    released: RefCell<usize>,
    launches: RefCell<Vec<Launched>>,
    /// Bytes that there are at all.
    most: usize,
}

impl Device for Remembers {
    fn allocate(&self, what: &str, bytes: usize) -> Result<u64, CudaError> {
        let used: usize = self.memory.borrow().values().map(Vec::len).sum();
        if used + bytes > self.most {
            let (needed, free) = (bytes as u64, (self.most - used) as u64);
            return Err(CudaError::Memory { what: what.to_owned(), needed, free });
        }
        let address = 1000 * (self.memory.borrow().len() as u64 + 1);
        self.memory.borrow_mut().insert(address, vec![7; bytes]);
        Ok(address)
    }

    fn release(&self, address: u64, bytes: usize) {
        assert_eq!(self.memory.borrow()[&address].len(), bytes);
        *self.released.borrow_mut() += 1;
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), CudaError> {
        self.memory.borrow_mut().insert(address, from.to_vec());
        Ok(())
    }

    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), CudaError> {
        to.copy_from_slice(&self.memory.borrow()[&address]);
        Ok(())
    }

    fn clear(&self, address: u64, bytes: usize) -> Result<(), CudaError> {
        self.write(address, &vec![0; bytes])
    }

    fn launch(&self, kernel: usize, shape: [u32; 3], given: &[u64]) -> Result<(), CudaError> {
        self.launches.borrow_mut().push((kernel, shape, given.to_vec()));
        if given.is_empty() {
            return Ok(());
        }
        let mut memory = self.memory.borrow_mut();
        let last = memory.get_mut(given.last().unwrap()).unwrap();
        last.iter_mut().for_each(|byte| *byte += given[0] as u8);
        Ok(())
    }

    fn prepare(&self) -> Result<(), CudaError> {
        Ok(())
    }

    fn mark(&self) -> Result<u64, CudaError> {
        Ok(self.launches.borrow().len() as u64)
    }

    fn between(&self, marks: [u64; 2]) -> Result<Duration, CudaError> {
        Ok(Duration::from_secs(marks[1] - marks[0]))
    }
}

/// For each `i` below the element of a buffer, a kernel of `N` blocks on a workspace and a result.
fn grid() -> Grid {
    let (i, n) = (VarId(0), Index::Symbol(SymbolId(0)));
    let launch = |buffer: u32| {
        Step::Launch(Launch {
            kernel: 0,
            blocks: n.clone(),
            integers: vec![Index::Var(i) + 1],
            buffers: vec![BufferId(buffer)],
        })
    };
    let inside = Step::Allocate(Allocate {
        buffer: BufferId(2),
        name: "W".to_owned(),
        element: Element::F64,
        size: n.clone() * 2,
        zero: true,
        instead: None,
        body: vec![launch(2), launch(1)],
    });
    let first = Condition::compare(Compare::Ge, Index::Var(i), Index::Const(0));
    let body = vec![Step::Choose { condition: first, then: vec![inside], otherwise: Vec::new() }];
    let upper = Index::Load(BufferId(0), Box::new(Index::Const(1)));
    let lower = vec![Index::Const(0)];
    let repeat = Repeat { var: i, lower, upper: vec![upper], step: 1, body };
    let name = "f".to_owned();
    Grid {
        functions: vec![HostFunction {
            name,
            variables: 1,
            longest: Vec::new(),
            steps: vec![Step::Repeat(repeat)],
        }],
        kernels: vec![Kernel {
            name: "k".to_owned(),
            lanes: 32,
            integers: 1,
            symbols: vec![SymbolId(0)],
            buffers: 1,
            allocates: false,
        }],
        codes: Vec::new(),
    }
}

fn signature() -> Signature {
    let args = vec![(BufferId(0), Mode::In), (BufferId(1), Mode::InOut)];
    Signature { name: "f".to_owned(), args }
}

#[test]
fn the_host_starts_kernels() {
    let device = Remembers { most: 1000, ..Remembers::default() };
    let (counts, mut bytes) = ([5_i32, 2], [1_u8, 2, 3]);
    let mut arguments = [Argument::read(&counts), Argument::write(&mut bytes)];
    let times = steps::call(&device, &grid(), &signature(), &[4], &mut arguments).unwrap();
    // A second for each kernel, in this device's time.
    assert_eq!((times.launches, times.kernels), (4, Duration::from_secs(4)));
    assert_eq!((times.bytes_to_device, times.bytes_to_host), (11, 3));
    // 1 for the first iteration, 2 for the second one.
    assert_eq!(bytes, [4, 5, 6]);
    let launches = device.launches.borrow();
    let shapes: Vec<_> = launches.iter().map(|(kernel, shape, _)| (*kernel, *shape)).collect();
    assert_eq!(shapes, [(0, [4, 1, 32]); 4]);
    assert_eq!(launches[2].2[..2], [2, 4]);
    // Two arguments, and the workspace twice.
    assert_eq!(*device.released.borrow(), 4);
}

#[test]
fn another_buffer_stands_for_a_workspace() {
    let device = Remembers { most: 1000, ..Remembers::default() };
    let mut grid = grid();
    let [Step::Repeat(repeat)] = &mut grid.functions[0].steps[..] else { unreachable!() };
    let [Step::Choose { then, .. }] = &mut repeat.body[..] else { unreachable!() };
    let [Step::Allocate(allocate)] = &mut then[..] else { unreachable!() };
    let second = Condition::compare(Compare::Ge, Index::Var(VarId(0)), Index::Const(1));
    allocate.instead = Some((BufferId(1), second));
    let (counts, mut bytes) = ([5_i32, 2], [1_u8, 2, 3]);
    let mut arguments = [Argument::read(&counts), Argument::write(&mut bytes)];
    steps::call(&device, &grid, &signature(), &[4], &mut arguments).unwrap();
    // 1 for the first iteration, twice 2 for the second one.
    assert_eq!(bytes, [6, 7, 8]);
    // Two arguments, and the workspace of the first iteration.
    assert_eq!(*device.released.borrow(), 3);
}

#[test]
fn nothing_is_started_for_no_blocks() {
    let device = Remembers { most: 1000, ..Remembers::default() };
    let (counts, mut bytes) = ([5_i32, 2], [1_u8]);
    let mut arguments = [Argument::read(&counts), Argument::write(&mut bytes)];
    steps::call(&device, &grid(), &signature(), &[0], &mut arguments).unwrap();
    assert!(device.launches.borrow().is_empty());
}

#[test]
fn many_blocks_are_in_rows() {
    let device = Remembers { most: 1000, ..Remembers::default() };
    let mut grid = grid();
    grid.functions[0].steps = vec![Step::Launch(Launch {
        kernel: 1,
        blocks: Index::Symbol(dastac_loops::SymbolId(0)),
        integers: Vec::new(),
        buffers: Vec::new(),
    })];
    grid.kernels.push(Kernel {
        integers: 0,
        buffers: 0,
        symbols: Vec::new(),
        ..grid.kernels[0].clone()
    });
    let call = |blocks: i64| {
        let (counts, mut bytes) = ([5_i32, 2], [1_u8]);
        let mut arguments = [Argument::read(&counts), Argument::write(&mut bytes)];
        steps::call(&device, &grid, &signature(), &[blocks], &mut arguments)
    };
    for blocks in [7, 1 << 30, (1 << 30) + 1, 3 << 30] {
        call(blocks).unwrap();
    }
    let shapes: Vec<_> = device.launches.borrow().iter().map(|(_, shape, _)| *shape).collect();
    let row = 1 << 30;
    assert_eq!(shapes, [[7, 1, 32], [row, 1, 32], [row, 2, 32], [row, 3, 32]]);
    assert!(matches!(call(1 << 47), Err(CudaError::Blocks { .. })));
}

#[test]
fn too_little_memory_is_said_with_sizes() {
    let device = Remembers { most: 40, ..Remembers::default() };
    let (counts, mut bytes) = ([5_i32, 2], [1_u8]);
    let mut arguments = [Argument::read(&counts), Argument::write(&mut bytes)];
    let error = steps::call(&device, &grid(), &signature(), &[4], &mut arguments).unwrap_err();
    assert_eq!(error.to_string(), "workspace `W` needs 64 B on the device, of which 31 B are free");
    assert_eq!(*device.released.borrow(), 2, "the arguments' memory is given back");
}

#[test]
fn the_longest_row_is_known() {
    let device = Remembers { most: 1000, ..Remembers::default() };
    let mut grid = grid();
    let longest = |first: i64| Longest {
        var: VarId(0),
        buffer: BufferId(0),
        first: Index::Const(first),
        count: Index::Symbol(SymbolId(0)),
    };
    // As many blocks as the longest row has terms.
    grid.functions[0].steps = vec![Step::Launch(Launch {
        kernel: 0,
        blocks: Index::Var(VarId(0)),
        integers: vec![Index::Const(0)],
        buffers: vec![BufferId(1)],
    })];
    let mut call = |first: i64, count: i64| {
        let (begins, mut bytes) = ([0_i32, 5, 5, 12, 11], [1_u8]);
        let mut arguments = [Argument::read(&begins), Argument::write(&mut bytes)];
        grid.functions[0].longest = vec![longest(first)];
        device.launches.borrow_mut().clear();
        steps::call(&device, &grid, &signature(), &[count], &mut arguments)?;
        Ok::<_, CudaError>(device.launches.borrow().first().map_or(0, |(_, shape, _)| shape[0]))
    };
    let cases = [((0, 4), 7), ((0, 1), 5), ((1, 1), 0), ((3, 1), 0), ((4, 0), 0), ((9, -1), 0)];
    for ((first, count), expected) in cases {
        assert_eq!(call(first, count).unwrap(), expected, "{count} rows from {first} on");
    }
    for (first, count) in [(0, 5), (-1, 2), (i64::MAX, 1), (1, i64::MAX)] {
        assert!(matches!(call(first, count), Err(CudaError::Plan { .. })));
    }
}
