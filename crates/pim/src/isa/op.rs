//! Instructions in the dense form that the cores execute.

/// What happens to the operands of an instruction. Immediate forms (`addi`) are those of registers with another
/// [`Group`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the instruction set's specification")]
#[rustfmt::skip]
pub enum Kind {
    Add, Sub, Sll, Slt, Sltu, Xor, Srl, Sra, Or, And,
    Mul, Mulh, Mulhsu, Mulhu, Div, Divu, Rem, Remu,
    Lui, Auipc, Jal, Jalr,
    Beq, Bne, Blt, Bge, Bltu, Bgeu,
    Lb, Lh, Lw, Lbu, Lhu, Sb, Sh, Sw, Flw, Fsw,
    Fence, Ecall, Ebreak, Csrrw, Csrrs, Csrrc,
    FaddS, FsubS, FmulS, FdivS, FsqrtS, FmaddS, FmsubS, FnmsubS, FnmaddS,
    FsgnjS, FsgnjnS, FsgnjxS, FminS, FmaxS,
    FeqS, FltS, FleS, FclassS, FcvtWS, FcvtWuS, FmvXW,
    FcvtSW, FcvtSWu, FmvWX,
}

/// Where the operands of an instruction come from, and where its result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Two integer registers to one.
    Register,
    /// An integer register and an immediate to an integer register.
    Immediate,
    /// The immediate is the result, or it is added to the program counter.
    Upper,
    /// A jump that keeps the address behind it.
    Jump,
    /// A jump that depends on two integer registers.
    Branch,
    /// From memory to an integer or float register.
    Load,
    /// From an integer or float register to memory.
    Store,
    /// Float registers to a float register.
    Float,
    /// Float registers to an integer register.
    FromFloat,
    /// An integer register to a float register.
    ToFloat,
    /// Calls of the environment, fences and control registers.
    System,
}

/// What instructions cost alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Integer arithmetic, moves, jumps, system calls.
    Plain,
    /// Integer multiplication.
    Multiply,
    /// Integer division and remainder.
    Divide,
    /// Loads and stores, beside what the memory takes.
    Access,
    /// Branches.
    Branch,
    /// Float addition and subtraction.
    FloatAdd,
    /// Float multiplication.
    FloatMultiply,
    /// Float division.
    FloatDivide,
    /// Float square root.
    FloatRoot,
    /// Float multiplication and addition in one.
    FloatFused,
    /// Comparisons, minimum and maximum of floats.
    FloatCompare,
    /// Conversions between floats and integers.
    FloatConvert,
    /// Signs and copies of floats.
    FloatMove,
}

impl Class {
    /// All of them, with the names that profiles have for them.
    pub const ALL: [(Class, &'static str); 13] = [
        (Class::Plain, "plain"),
        (Class::Multiply, "multiply"),
        (Class::Divide, "divide"),
        (Class::Access, "access"),
        (Class::Branch, "branch"),
        (Class::FloatAdd, "float_add"),
        (Class::FloatMultiply, "float_multiply"),
        (Class::FloatDivide, "float_divide"),
        (Class::FloatRoot, "float_root"),
        (Class::FloatFused, "float_fused"),
        (Class::FloatCompare, "float_compare"),
        (Class::FloatConvert, "float_convert"),
        (Class::FloatMove, "float_move"),
    ];
}

impl Kind {
    /// The class whose cost an instruction has.
    pub fn class(self) -> Class {
        use Kind::*;
        match self {
            Mul | Mulh | Mulhsu | Mulhu => Class::Multiply,
            Div | Divu | Rem | Remu => Class::Divide,
            Beq | Bne | Blt | Bge | Bltu | Bgeu => Class::Branch,
            Lb | Lh | Lw | Lbu | Lhu | Sb | Sh | Sw | Flw | Fsw => Class::Access,
            FaddS | FsubS => Class::FloatAdd,
            FmulS => Class::FloatMultiply,
            FdivS => Class::FloatDivide,
            FsqrtS => Class::FloatRoot,
            FmaddS | FmsubS | FnmsubS | FnmaddS => Class::FloatFused,
            FminS | FmaxS | FeqS | FltS | FleS | FclassS => Class::FloatCompare,
            FcvtWS | FcvtWuS | FcvtSW | FcvtSWu => Class::FloatConvert,
            FsgnjS | FsgnjnS | FsgnjxS | FmvXW | FmvWX => Class::FloatMove,
            _ => Class::Plain,
        }
    }
}

/// How a float is rounded to an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest, the even one of two.
    NearestEven,
    /// Toward zero.
    Zero,
    /// Down.
    Down,
    /// Up.
    Up,
    /// To the nearest, the one of two that is larger without its sign.
    NearestAway,
}

/// The place of the register that takes what is written to `x0`.
pub const NOWHERE: u8 = 32;

/// An instruction. The number of a register that is not used is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Where operands come from.
    pub group: Group,
    /// What happens to them.
    pub kind: Kind,
    /// The result's register; [`NOWHERE`] in place of `x0`.
    pub rd: u8,
    /// The first operand's register.
    pub rs1: u8,
    /// The second operand's register.
    pub rs2: u8,
    /// The third operand's register.
    pub rs3: u8,
    /// The immediate operand.
    pub imm: i32,
    /// How a conversion to an integer rounds.
    pub rounding: Rounding,
}
