-- situated editor plugin: a pane at the side with the notes near the one that is edited.

local situated = require("situated")
local client = require("situated.client")
local api = vim.api
local M = {}

local mark = api.nvim_create_namespace("situated.related")
local LINES = 3 -- of the pane for each hit
local pane -- of which there is one, or nil

local function set_lines(lines)
  vim.bo[pane.buffer].modifiable = true
  api.nvim_buf_set_lines(pane.buffer, 0, -1, false, lines)
  vim.bo[pane.buffer].modifiable = false
  api.nvim_buf_clear_namespace(pane.buffer, mark, 0, -1)
end

local function show(hits)
  local lines = {}
  for _, hit in ipairs(hits) do
    lines[#lines + 1] = situated.title_of(hit)
    lines[#lines + 1] = ("  %s:%d"):format(situated.plain(hit.path), situated.line_of(hit))
    lines[#lines + 1] = "  " .. situated.plain(hit.snippet)
  end
  pane.hits = hits
  set_lines(lines)
  for _, window in ipairs(vim.fn.win_findbuf(pane.buffer)) do
    vim.wo[window].wrap = not hits[1] -- then a message stands there
  end
  for place in ipairs(hits) do
    api.nvim_buf_add_highlight(pane.buffer, mark, "Title", (place - 1) * LINES, 0, -1)
    api.nvim_buf_add_highlight(pane.buffer, mark, "Directory", (place - 1) * LINES + 1, 0, -1)
  end
end

local request -- defined below; it asks again by itself

local function answered(line)
  return function(result, failure)
    pane.request = nil
    if not failure then
      show(result.hits or {})
    elseif failure.kind == "not_found" and line then
      request(nil) -- nothing that is indexed stands on this line: then the whole note
    elseif failure.kind == "not_found" then
      show({}) -- not indexed, or not yet
    else
      show({})
      set_lines(situated.error_lines(failure))
      pane.asked = nil -- so that the next move asks again
    end
  end
end

function request(line)
  if pane.request then
    pane.client:cancel(pane.request)
    pane.request = nil
  end
  -- Which vault the file lies in is known once the daemon has said which it serves: at the first request that is
  -- after a `hello`, which `ping` brings about. It ends the connection when it serves others, or by other names.
  if not pane.client.ready then
    pane.request = pane.client:request("ping", nil, function(_, failure)
      if failure or not next(pane.client.roots) then
        return answered(nil)(failure and nil or {}, failure)
      end
      pane.request = nil
      request(line)
    end)
    return
  end
  local vault, path = pane.client:locate(pane.file)
  if not vault then
    return show({})
  end
  pane.request = pane.client:request("related", {
    path = path,
    vault = vault,
    line = line,
    group = "note",
    limit = situated.options.related,
  }, answered(line))
end

-- Looks at the current buffer. Windows of other kinds (help, terminals, this pane) leave the pane as it is.
local function follow(anew)
  if not pane or vim.bo.buftype ~= "" or api.nvim_win_get_config(0).relative ~= "" then
    return
  end
  local file, line = api.nvim_buf_get_name(0), api.nvim_win_get_cursor(0)[1]
  local asked = file .. "\n" .. line
  if asked == pane.asked and not anew then
    return
  end
  pane.asked, pane.file, pane.line, pane.window = asked, file, line, api.nvim_get_current_win()
  request(line)
end

function M.close()
  if not pane then
    return
  end
  local was = pane
  pane = nil
  was.client:close()
  api.nvim_del_augroup_by_id(was.group)
  vim.schedule(function() -- it may be on its way out already
    if api.nvim_buf_is_valid(was.buffer) then
      api.nvim_buf_delete(was.buffer, { force = true })
    end
  end)
end

-- Goes from the pane to the window where notes are opened; anywhere else it stays.
function M.leave()
  if not pane or api.nvim_get_current_buf() ~= pane.buffer then
    return
  end
  if api.nvim_win_is_valid(pane.window) then
    api.nvim_set_current_win(pane.window)
  else
    vim.cmd("leftabove vsplit") -- never in the pane itself
  end
end

local function open_hit(before)
  local hit = pane.hits[math.ceil(api.nvim_win_get_cursor(0)[1] / LINES)]
  if not hit then
    return
  end
  local root = pane.client.roots[hit.vault]
  M.leave()
  situated.open(hit, root, before)
end

function M.open()
  local origin = api.nvim_get_current_win()
  pane = {
    buffer = api.nvim_create_buf(false, true),
    client = client.new(situated.options),
    group = api.nvim_create_augroup("situated.related", {}),
    window = origin,
    hits = {},
  }
  vim.bo[pane.buffer].bufhidden = "wipe"
  vim.cmd("botright vertical " .. situated.options.width .. "split | buffer " .. pane.buffer)
  local window = api.nvim_get_current_win()
  vim.wo[window].winfixwidth = true
  vim.wo[window].wrap = false
  vim.wo[window].number = false
  vim.wo[window].relativenumber = false
  vim.wo[window].signcolumn = "no"
  local function map(key, action)
    vim.keymap.set("n", key, action, { buffer = pane.buffer, nowait = true })
  end
  map("<CR>", function()
    open_hit(nil)
  end)
  for key, before in pairs({ ["<C-x>"] = "split", ["<C-s>"] = "split", ["<C-v>"] = "vsplit", ["<C-t>"] = "tab split" }) do
    map(key, function()
      open_hit(before)
    end)
  end
  map("q", M.close)
  api.nvim_set_current_win(origin)

  api.nvim_create_autocmd({ "BufEnter", "CursorHold" }, {
    group = pane.group,
    callback = vim.schedule_wrap(function() -- `:edit` moves the cursor only after this event
      follow(false)
    end),
  })
  api.nvim_create_autocmd("BufWritePost", {
    group = pane.group,
    callback = function()
      follow(true)
    end,
  })
  api.nvim_create_autocmd("BufWipeout", { group = pane.group, buffer = pane.buffer, callback = M.close })
  -- What was saved is found a moment later; the daemon says when.
  pane.client.on_ready = function()
    pane.client:request("subscribe", { events = { "index" } }, function() end)
  end
  pane.client.on_event = function(event)
    if pane and event.kind == "index" and pane.file then
      request(pane.line)
    end
  end
  follow(true)
end

function M.toggle()
  if pane then
    M.close()
  else
    M.open()
  end
end

-- For tests: what the pane holds.
function M.pane()
  return pane
end

return M
