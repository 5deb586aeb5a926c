-- Starts `dastac lsp` for the current buffer; Neovim shares one server among buffers.
local M = {}

function M.start()
  if vim.fn.executable("dastac") == 0 then
    return
  end
  local folder = vim.fs.dirname(vim.api.nvim_buf_get_name(0))
  vim.lsp.start({ name = "dastac", cmd = { "dastac", "lsp" }, root_dir = folder })
end

return M
