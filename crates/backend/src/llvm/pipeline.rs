//! Which of LLVM's passes run.
//!
//! Loops reach LLVM in tiles and vectors already, so most of what its longest pipeline could do is done. That pipeline
//! takes time that grows faster than the code: two thirds of the time in which a tiled contraction is compiled. Modules
//! that are short run through all of it, which unrolls and vectorises the few loops that passes of the loop IR leave as
//! they are; long ones run through the passes below, which simplify, move what is invariant out of loops, and
//! vectorise. Their code is as fast, and no longer.

/// The most instructions of a module that all passes are run on.
const SHORT: usize = 700;

/// Peephole rewriting, once over a function: a second time finds next to nothing, and asking for a fixed point fails
/// where there is none yet.
const COMBINE: &str = "instcombine<max-iterations=1;no-verify-fixpoint>";

/// The passes for a module of so many instructions, as LLVM writes them.
pub(super) fn pipeline(level: u8, instructions: usize) -> String {
    if level < 2 || instructions <= SHORT {
        return format!("default<O{}>", level.min(3));
    }
    let simplify = format!(
        "sroa,early-cse<memssa>,simplifycfg,{COMBINE},loop-mssa(loop-rotate,licm),simplifycfg,gvn<>,adce,\
         loop(loop-idiom,loop-deletion),loop-mssa(licm)"
    );
    let vectorise = format!("loop-vectorize,early-cse<>,{COMBINE},simplifycfg");
    format!("cgscc(inline),globaldce,function({simplify}),function({vectorise})")
}

#[cfg(test)]
mod tests {
    use super::{SHORT, pipeline};

    #[test]
    fn long_modules_run_through_fewer_passes() {
        assert_eq!(pipeline(3, SHORT), "default<O3>");
        assert_eq!(pipeline(1, SHORT + 1), "default<O1>");
        assert_eq!(pipeline(2, SHORT + 1), pipeline(3, SHORT + 1));
        assert!(!pipeline(3, SHORT + 1).contains("default"));
    }
}
