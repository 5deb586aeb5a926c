" STUR, the language of dastac.
if exists("b:current_syntax")
  finish
endif
setlocal iskeyword=@,48-57,_,.
syntax match sturOperator ":=\|->\|==\|!=\|<=\|>=\|[-+*/%^=<>]"
syntax match sturNumber "\<[0-9]\+\(\.[0-9]\+\)\?\([eE][+-]\?[0-9]\+\)\?\>"
syntax match sturTensor "\<[A-Za-z][A-Za-z0-9_.]*\ze\s*\(\^\s*-\s*1\s*\)\?("
syntax match sturTensor "\<[A-Za-z][A-Za-z0-9_.]*\ze\s*:\s*[DURF]\>"
syntax match sturAspect ":\s*\zs[DURF]\>"
syntax match sturDirective "^\s*\zs\(symbols\|outputs\|iters\|layout\|schedule\|types\)\ze\s*:\(=\)\@!"
syntax match sturBlock "@\(preprocess_start\|preprocess_end\)\>"
syntax match sturFunction "\<\(min\|max\|max_times\|prod\|or\|pos\|order\|align\|reorder\|tile\|unroll\|vectorize\|parallel\|contract\|workspace\|expand\|sum\|exp\|exp2\|expm1\|log\|log2\|log10\|log1p\|sqrt\|cbrt\|abs\|sign\|floor\|ceil\|round\|trunc\|sin\|cos\|tan\|asin\|acos\|atan\|sinh\|cosh\|tanh\|erf\|pow\|atan2\|hypot\|floor_divide\|mod\|conj\|real\|imag\|complex\|where\|relu\|sigmoid\|silu\|gelu\|softplus\|square\|clip\)\ze\s*("
syntax keyword sturFormat csr csc dcsr dcsc dia dia_v csf coo bcoo bcsr bsr bcsc bdcsr bdia c2sr csb csb_csr csb_dcsr hicoo bell cisr cisr_plus ell jds sell dense compressed singleton bitmap offset padded ragged nonunique unordered
syntax keyword sturType f64 f32 f16 bf16 complex128 complex64 i64 i32 i16 i8 u8 bool
syntax match sturComment "#.*$"
highlight default link sturOperator Operator
highlight default link sturNumber Number
highlight default link sturTensor Function
highlight default link sturAspect StorageClass
highlight default link sturDirective Statement
highlight default link sturBlock PreProc
highlight default link sturFunction Keyword
highlight default link sturFormat Constant
highlight default link sturType Type
highlight default link sturComment Comment
let b:current_syntax = "stur"
