if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal commentstring=#\ %s comments=:#
if has("nvim") && expand("%:e") ==# "stur"
  lua require("dastac").start()
endif
