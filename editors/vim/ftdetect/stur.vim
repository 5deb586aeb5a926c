autocmd BufNewFile,BufRead *.stur,*.schedule setfiletype stur
