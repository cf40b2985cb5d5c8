-- situated editor plugin: a connection to the daemon, and requests over it. Nothing here waits.

local uv = vim.uv or vim.loop
local M = {}
M.__index = M

local START = "Start it with `situated run VAULT`, or for good with `situated service install`."
local found -- the socket's path that `situated socket` told, kept until it proves wrong

-- Takes pieces of a stream and calls `on_line` with each whole line. A long answer comes in many pieces, so each
-- byte is looked at once: only in the new piece, and joined once, when the line is whole. `find` and `join` can be
-- replaced by tests that count. A character may be split between pieces, a whole line never holds half of one.
function M.lines(on_line, find, join)
  find, join = find or string.find, join or table.concat
  local pieces = {}
  return function(piece)
    local from = 1
    local stop = find(piece, "\n", from, true)
    while stop do
      pieces[#pieces + 1] = piece:sub(from, stop - 1)
      local line = join(pieces)
      pieces, from = {}, stop + 1
      on_line(line)
      stop = find(piece, "\n", from, true)
    end
    if from <= #piece then
      pieces[#pieces + 1] = piece:sub(from)
    end
  end
end

-- Its fields `on_event`, if set, gets the parameters of `event` notifications, and `on_ready` is called whenever a
-- connection stands. It connects at the first request, and again at the next one after it was lost.
function M.new(options)
  return setmetatable({
    options = options,
    roots = {}, -- of the vaults, by name
    next_id = 1,
    pending = {}, -- callbacks of requests, by id
    queue = {}, -- lines that wait for the connection, in order, each {id, line}
  }, M)
end

-- Asks the daemon; `callback(result, failure)` is called exactly once, unless the request is cancelled.
function M:request(method, params, callback)
  local id = self.next_id
  self.next_id = id + 1
  local timer = vim.defer_fn(function()
    local failure = { message = "The situated daemon does not answer.", hint = "`situated status` says how it is." }
    if not self.ready then
      return self:fail(failure) -- not even to `hello`
    end
    self:send({ jsonrpc = "2.0", method = "cancel", params = { id = id } })
    self:settle(id, nil, failure)
  end, self.options.timeout)
  self.pending[id] = { callback = callback, timer = timer }
  self.queue[#self.queue + 1] = { id = id, method = method, params = params }
  self:flush()
  return id
end

-- The answer to this request is no longer wanted: whatever comes is dropped.
function M:cancel(id)
  if not self.pending[id] then
    return
  end
  self:forget(id)
  for place, waiting in ipairs(self.queue) do
    if waiting.id == id then
      table.remove(self.queue, place) -- it was never sent
      return
    end
  end
  self:send({ jsonrpc = "2.0", method = "cancel", params = { id = id } })
end

function M:close()
  for id in pairs(self.pending) do
    self:forget(id)
  end
  self.queue = {}
  self:disconnect()
end

-- The vault that a file lies in, and its path there; nil if it lies in none. The longest root wins: vaults may nest.
function M:locate(file)
  local best, path, length = nil, nil, -1
  for _, name in ipairs({ file, uv.fs_realpath(file) }) do
    for vault, root in pairs(self.roots) do
      for _, start in ipairs({ root, uv.fs_realpath(root) }) do
        start = start:gsub("/+$", "") .. "/"
        if #start > length and name:sub(1, #start) == start then
          best, path, length = vault, name:sub(#start + 1), #start
        end
      end
    end
  end
  return best, path
end

-- Private from here on.

function M:forget(id)
  local request = self.pending[id]
  self.pending[id] = nil
  if request and not request.timer:is_closing() then
    request.timer:stop()
    request.timer:close()
  end
  return request
end

function M:settle(id, result, failure)
  local request = self:forget(id)
  if request then
    if result == nil and not failure then
      failure = { message = "The situated daemon gave an answer that is none." }
    end
    request.callback(result, failure)
  end
end

function M:send(message)
  if self.pipe then
    self.pipe:write(vim.json.encode(message) .. "\n")
  end
end

function M:flush()
  if self.ready then
    local queue = self.queue
    self.queue = {}
    for _, waiting in ipairs(queue) do
      self:send({ jsonrpc = "2.0", id = waiting.id, method = waiting.method, params = waiting.params })
    end
  elseif not self.connecting then
    self:connect()
  end
end

function M:disconnect()
  self.ready, self.connecting = false, false
  if self.pipe and not self.pipe:is_closing() then
    self.pipe:close()
  end
  self.pipe = nil
end

-- All that was asked fails alike; the next request connects anew.
function M:fail(failure)
  self:disconnect()
  local ids = vim.tbl_keys(self.pending)
  self.queue = {}
  table.sort(ids)
  for _, id in ipairs(ids) do
    self:settle(id, nil, failure)
  end
end

-- Calls back with the socket's path. The binary knows it also where the environment is not the shell's, as in an
-- editor that a desktop has started.
function M:find_socket(callback)
  local known = self.options.socket or vim.env.SITUATED_SOCKET or found
  if known and known ~= "" then
    return callback(known)
  end
  local output = {}
  local started, job = pcall(vim.fn.jobstart, { self.options.command, "socket" }, {
    stdout_buffered = true,
    on_stdout = function(_, lines)
      output = lines
    end,
    on_exit = function(_, code)
      found = code == 0 and output[1] ~= "" and output[1] or nil
      callback(found)
    end,
  })
  if not started or job <= 0 then
    callback(nil)
  end
end

function M:connect()
  local attempt = {} -- tells this connection's callbacks from those of one given up meanwhile
  self.attempt, self.connecting = attempt, true
  local function current(action)
    return vim.schedule_wrap(function(...)
      if self.attempt == attempt and (self.connecting or self.ready) then
        action(...)
      end
    end)
  end
  self:find_socket(current(function(path)
    if not path then
      return self:fail({
        message = ("`%s socket` does not say where the daemon is."):format(self.options.command),
        hint = "Install situated, or set `command` or `socket` in require('situated').setup.",
      })
    end
    self.pipe = uv.new_pipe(false)
    local receive = M.lines(current(function(line)
      self:receive(line)
    end))
    local ended = current(function()
      self:fail({ message = "The situated daemon ended the connection.", hint = "Try again. " .. START })
    end)
    local pipe = self.pipe
    pipe:connect(path, current(function(failure)
      if failure then
        found = nil
        return self:fail({ message = "The situated daemon is not running.", hint = START })
      end
      pipe:read_start(function(trouble, piece)
        if piece then
          receive(piece)
        elseif trouble or not pipe:is_closing() then
          ended()
        end
      end)
      self:send({ jsonrpc = "2.0", id = 0, method = "hello", params = { client = "situated.nvim" } })
    end))
  end))
end

function M:receive(line)
  local fine, message = pcall(vim.json.decode, line, { luanil = { object = true, array = true } })
  if not fine or type(message) ~= "table" then
    return self:fail({ message = "What answers on the socket does not speak as situated does." })
  end
  local failure = message.error
  if type(failure) == "table" then
    local data = type(failure.data) == "table" and failure.data or {}
    local hint = data.hint
    if hint and tostring(failure.message):sub(-#hint) == hint then
      hint = nil -- the message says it already
    end
    failure = { message = failure.message, hint = hint, kind = data.kind }
  end
  if message.method == "event" and self.on_event then
    self.on_event(message.params or {})
  elseif failure and (message.id == nil or message.id == 0) then
    self:fail(failure) -- too many connections, or no protocol in common
  elseif message.id == 0 then
    self.roots = {}
    for _, vault in ipairs(message.result and message.result.vaults or {}) do
      self.roots[vault.name] = vault.path
    end
    self.ready, self.connecting = true, false
    if self.on_ready then
      self.on_ready()
    end
    self:flush()
  else
    self:settle(message.id, message.result, failure)
  end
end

return M
