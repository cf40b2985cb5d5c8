-- situated editor plugin: options, and what search and related pane share.

local M = {}

M.options = {
  command = "situated", -- asked once for the socket's path: `COMMAND socket`
  socket = nil, -- the socket's path, if it should not be asked for
  vault = nil, -- the name of the vault to search; all if nil
  limit = 20, -- hits of a search
  related = 10, -- notes in the related pane
  width = 44, -- columns of the related pane
  debounce = 30, -- milliseconds between the last key and the request
  timeout = 10000, -- milliseconds that an answer may take
}

function M.setup(options)
  M.options = vim.tbl_extend("force", M.options, options or {})
end

function M.search(query)
  require("situated.search").open(query)
end

function M.related()
  require("situated.related").toggle()
end

-- Notes are other people's text: control characters (C0, DEL, C1), line separators and marks that turn the
-- direction of writing around would draw something else than what is there. One line comes out.
function M.plain(text)
  text = tostring(text or ""):gsub("[\n\t]", " "):gsub("%c", "?")
  text = text:gsub("\194[\128-\159]", "?"):gsub("\226\128[\142\143\168-\174]", "?"):gsub("\226\129[\166-\169]", "?")
  return text
end

-- Where a program opens a hit: `match_line` is 0 or absent in answers of older daemons.
function M.line_of(hit)
  local line = tonumber(hit.match_line) or 0
  return line > 0 and line or tonumber(hit.line) or 1
end

-- "Title › Heading › Heading". The first heading mostly is the title, which need not be said twice.
function M.title_of(hit)
  local names = { M.plain(hit.title) }
  for level, heading in ipairs(hit.heading_path or {}) do
    if level > 1 or heading ~= hit.title then
      names[#names + 1] = M.plain(heading)
    end
  end
  return table.concat(names, " › ")
end

-- An error as lines for a person: what is wrong, then what to do about it.
function M.error_lines(failure)
  local lines = { M.plain(failure.message) }
  if failure.hint then
    lines[2] = M.plain(failure.hint)
  end
  return lines
end

-- A path as the system has it: the daemon writes a byte that is no UTF-8 as the character U+F700 + byte, of which Neovim
-- knows no file (U+F780 to U+F7FF, in UTF-8 EF 9E 80 to EF 9F BF).
function M.on_disk(path)
  return (path:gsub("\239([\158\159])([\128-\191])", function(second, third)
    return string.char((second == "\158" and 0x80 or 0xC0) + third:byte() - 0x80)
  end))
end

-- Shows a hit in the current window, after `before` (such as "split") if given. The name of a file may hold
-- anything, so it never becomes part of a command: the buffer is made by name and shown by number.
function M.open(hit, root, before)
  if not root then
    return vim.notify("situated: the daemon did not say where this note's vault lies", vim.log.levels.ERROR)
  end
  local buffer = vim.fn.bufadd(root:gsub("/+$", "") .. "/" .. M.on_disk(hit.path))
  vim.bo[buffer].buflisted = true
  vim.cmd("normal! m'") -- so that <C-o> leads back
  local fine, failure = pcall(vim.cmd, (before and before .. " | " or "") .. "buffer " .. buffer)
  if not fine then
    return vim.notify("situated: " .. M.plain(failure), vim.log.levels.ERROR)
  end
  local line = math.min(M.line_of(hit), vim.api.nvim_buf_line_count(buffer))
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd("normal! zvzz")
end

return M
