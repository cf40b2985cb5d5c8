-- situated editor plugin: search while typing, in floating windows: prompt, list and preview.

local situated = require("situated")
local client = require("situated.client")
local api = vim.api
local M = {}

local mark = api.nvim_create_namespace("situated.search")
local LINES = 2 -- of the list for each hit

local function buffer()
  local made = api.nvim_create_buf(false, true)
  vim.bo[made].bufhidden = "wipe"
  return made
end

local function float(shown, focus, config)
  local window = api.nvim_open_win(shown, focus, vim.tbl_extend("force", {
    relative = "editor",
    style = "minimal",
    border = "rounded",
  }, config))
  vim.wo[window].wrap = false
  return window
end

-- Prompt above the list, and the preview beside both where there is room for it.
local function layout(state)
  local columns, lines = vim.o.columns, vim.o.lines - vim.o.cmdheight
  local width = math.max(20, math.min(columns - 4, 160))
  local height = math.max(4, math.min(lines - 8, 40))
  local left = columns >= 90 and math.floor(width / 2) or width
  local row, column = math.max(0, math.floor((lines - height - 5) / 2)), math.max(0, math.floor((columns - width) / 2) - 1)
  state.windows = {
    list = float(state.list, false, { row = row + 3, col = column, width = left, height = height }),
  }
  if left < width then
    state.windows.preview =
      float(state.preview, false, { row = row, col = column + left + 2, width = width - left - 2, height = height + 3 })
  end
  state.windows.prompt = float(state.prompt, true, { row = row, col = column, width = left, height = 1 })
end

local function set_lines(target, lines)
  vim.bo[target].modifiable = true
  api.nvim_buf_set_lines(target, 0, -1, false, lines)
  vim.bo[target].modifiable = false
end

local function say(state, words)
  api.nvim_buf_clear_namespace(state.prompt, mark, 0, -1)
  api.nvim_buf_set_extmark(state.prompt, mark, 0, 0, { virt_text = { { words, "Comment" } }, virt_text_pos = "right_align" })
end

-- The hit's window is in the answer: no file is read for the preview.
local function show_preview(state)
  local hit = state.hits[state.chosen]
  local lines = {}
  for line in ((hit and (hit.window or hit.text) or "") .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = situated.plain((line:gsub("\r$", "")))
  end
  set_lines(state.preview, lines)
  local window = state.windows.preview
  if hit and window then
    local first = hit.window and hit.window_lines and hit.window_lines[1] or hit.line or 1
    local line = math.max(1, math.min(situated.line_of(hit) - first + 1, #lines))
    api.nvim_win_set_cursor(window, { line, 0 })
    api.nvim_win_call(window, function()
      vim.cmd("normal! zz")
    end)
    api.nvim_buf_clear_namespace(state.preview, mark, 0, -1)
    api.nvim_buf_set_extmark(state.preview, mark, line - 1, 0, { end_row = line, hl_group = "Search", hl_eol = true, strict = false })
  end
end

local function choose(state, place)
  state.chosen = math.max(1, math.min(place, #state.hits))
  api.nvim_buf_clear_namespace(state.list, mark, 0, -1)
  for index in ipairs(state.hits) do
    local row = (index - 1) * LINES
    local selected = index == state.chosen
    api.nvim_buf_set_extmark(state.list, mark, row, 0, {
      end_row = row + (selected and LINES or 1),
      hl_group = selected and "PmenuSel" or "Title",
      hl_eol = selected,
      strict = false,
    })
  end
  if state.hits[1] then
    -- Both lines of a hit are to be seen, whichever way one moves.
    local window, row = state.windows.list, (state.chosen - 1) * LINES + 1
    api.nvim_win_set_cursor(window, { row + LINES - 1, 0 })
    api.nvim_win_set_cursor(window, { row, 0 })
  end
  show_preview(state)
end

local function show(state, hits, status)
  local lines = {}
  for _, hit in ipairs(hits) do
    lines[#lines + 1] = situated.title_of(hit)
    lines[#lines + 1] = ("  %s:%d  %s"):format(situated.plain(hit.path), situated.line_of(hit), situated.plain(hit.snippet))
  end
  state.hits = hits
  set_lines(state.list, lines)
  vim.wo[state.windows.list].wrap = not hits[1] -- then a message stands there
  choose(state, 1)
  say(state, status)
end

-- Asks for what stands in the prompt now. The request before is cancelled, and its answer dropped if it comes still.
local function ask(state)
  local query = table.concat(api.nvim_buf_get_lines(state.prompt, 0, -1, false), " ")
  if query == state.query then
    return
  end
  state.query = query
  if state.request then
    state.client:cancel(state.request)
    state.request = nil
  end
  if not query:find("%S") then
    return show(state, {}, "")
  end
  local options = situated.options
  local request
  request = state.client:request("search", {
    query = query,
    prefix = true,
    limit = options.limit,
    vault = options.vault,
    include = { "window" },
  }, function(result, failure)
    if state.closed or state.request ~= request then
      return
    end
    state.request = nil
    if failure then
      state.query = nil -- the same words may be asked again
      show(state, {}, "")
      return set_lines(state.list, situated.error_lines(failure))
    end
    local hits = result.hits or {}
    show(state, hits, hits[1] and tostring(#hits) .. (result.truncated and "+" or "") or "nothing found")
    if result.warnings and result.warnings[1] and not hits[1] then
      set_lines(state.list, vim.tbl_map(situated.plain, result.warnings))
    end
  end)
  state.request = request
end

local function close(state)
  if state.closed then
    return
  end
  state.closed = true
  state.timer:stop()
  state.timer:close()
  state.client:close()
  vim.cmd("stopinsert")
  for _, window in pairs(state.windows) do
    if api.nvim_win_is_valid(window) then
      api.nvim_win_close(window, true)
    end
  end
  if api.nvim_win_is_valid(state.origin) then
    api.nvim_set_current_win(state.origin)
  end
  M.current = nil
end

local function accept(state, before)
  local hit = state.hits[state.chosen]
  if hit then
    local root = state.client.roots[hit.vault]
    close(state)
    require("situated.related").leave()
    situated.open(hit, root, before)
  else
    state.query = nil
    ask(state) -- after an error: again
  end
end

local function keys(state)
  local function map(names, action)
    for _, name in ipairs(names) do
      vim.keymap.set({ "i", "n" }, name, action, { buffer = state.prompt, nowait = true })
    end
  end
  local function step(by)
    return function()
      choose(state, state.chosen + by)
    end
  end
  local function with(before)
    return function()
      accept(state, before)
    end
  end
  map({ "<CR>" }, with(nil))
  map({ "<C-x>", "<C-s>" }, with("split"))
  map({ "<C-v>" }, with("vsplit"))
  map({ "<C-t>" }, with("tab split"))
  map({ "<C-n>", "<Down>" }, step(1))
  map({ "<C-p>", "<Up>" }, step(-1))
  map({ "<Esc>", "<C-c>" }, function()
    close(state)
  end)
end

function M.open(query)
  if M.current then
    close(M.current)
  end
  local options = situated.options
  local state = {
    client = client.new(options),
    timer = (vim.uv or vim.loop).new_timer(),
    origin = api.nvim_get_current_win(),
    prompt = buffer(),
    list = buffer(),
    preview = buffer(),
    hits = {},
    chosen = 1,
  }
  M.current = state
  vim.bo[state.preview].syntax = "markdown" -- colours alone: a file type would start language servers
  layout(state)
  keys(state)
  local function typed()
    if not state.closed then
      ask(state)
    end
  end
  api.nvim_buf_attach(state.prompt, false, {
    on_lines = function()
      if state.closed then
        return true
      end
      state.timer:start(options.debounce, 0, vim.schedule_wrap(typed))
    end,
  })
  api.nvim_create_autocmd("BufLeave", {
    buffer = state.prompt,
    once = true,
    callback = vim.schedule_wrap(function()
      close(state)
    end),
  })
  say(state, "")
  if query and query ~= "" then
    api.nvim_buf_set_lines(state.prompt, 0, -1, false, { (query:gsub("\n", " ")) })
  end
  vim.cmd("startinsert!")
end

return M
