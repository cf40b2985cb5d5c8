-- situated editor plugin: tests of the Neovim plugin.
-- nvim --headless -u NONE -i NONE --cmd 'set rtp+=src/cli/editor/plugins/neovim' -c 'luafile tests/editors/neovim/run.lua'

local uv = vim.uv or vim.loop
local api = vim.api
vim.o.columns, vim.o.lines, vim.o.swapfile, vim.o.hidden = 120, 40, false, true

local situated = require("situated")
local client = require("situated.client")
local search = require("situated.search")
local related = require("situated.related")
vim.cmd("runtime plugin/situated.lua")

local LIMIT = tonumber(vim.env.SITUATED_TEST_LIMIT_MS) or 30000
local base = vim.fn.tempname()
vim.fn.mkdir(base, "p")
local root = uv.fs_realpath(base) .. "/my notes"
vim.fn.mkdir(root, "p")

local function wait(what, condition)
  assert(vim.wait(LIMIT, condition, 5), "waited in vain for " .. what)
end

local function equal(got, wanted, what)
  if not vim.deep_equal(got, wanted) then
    error(("%s: %s, not %s"):format(what or "value", vim.inspect(got), vim.inspect(wanted)), 2)
  end
end

local function write(name, lines)
  local file = assert(io.open(root .. "/" .. name, "w"))
  file:write(table.concat(lines, "\n") .. "\n")
  file:close()
end

-- A daemon: `handle(request, send, pipe)` is asked for all but `hello`. It takes the place of the one before.
local server
local count = 0
local function serve(handle)
  if server then
    server.stop()
  end
  count = count + 1
  local listener, clients = uv.new_pipe(false), {}
  local path = base .. "/s" .. count
  server = { path = path, requests = {}, vault = "notes" }
  function server.stop()
    for _, pipe in ipairs(clients) do
      if not pipe:is_closing() then
        pipe:close()
      end
    end
    if not listener:is_closing() then
      listener:close()
    end
  end
  assert(listener:bind(path))
  listener:listen(16, function()
    local pipe, rest = uv.new_pipe(false), ""
    listener:accept(pipe)
    clients[#clients + 1] = pipe
    local function send(message)
      pipe:write(vim.json.encode(message) .. "\n")
    end
    pipe:read_start(vim.schedule_wrap(function(_, piece)
      rest = rest .. (piece or "")
      for line in rest:gmatch("([^\n]*)\n") do
        local request = vim.json.decode(line)
        server.requests[#server.requests + 1] = request
        if request.method == "hello" then
          send({ id = request.id, result = { vaults = { { name = server.vault, path = root, default = true } } } })
        elseif request.method == "ping" or request.method == "subscribe" then
          send({ id = request.id, result = vim.empty_dict() })
        else
          handle(request, send, pipe)
        end
      end
      rest = rest:match("[^\n]*$")
    end))
  end)
  vim.env.SITUATED_SOCKET = path
end

local function hit(path, line, title, more)
  return vim.tbl_extend("force", {
    vault = "notes",
    path = path,
    line = 1,
    match_line = line,
    title = title or path,
    heading_path = { title or path, "Part" },
    snippet = "a snippet",
    text = "text",
    window = "one\ntwo\nthree\nfour",
    window_lines = { 1, 4 },
  }, more or {})
end

local function answer(...)
  local hits = { ... }
  return function(request, send)
    if request.id then
      local shown = vim.tbl_map(function(hit)
        -- As the daemon: a hit has its window only if it is asked for.
        local included = vim.tbl_contains(request.params.include or {}, "window")
        return included and hit or vim.tbl_extend("force", hit, { window = "", window_lines = vim.NIL })
      end, hits)
      send({ id = request.id, result = { hits = shown, truncated = false, warnings = {} } })
    end
  end
end

local function list()
  return search.current and table.concat(api.nvim_buf_get_lines(search.current.list, 0, -1, false), "\n") or ""
end

local function type_query(words)
  api.nvim_buf_set_lines(search.current.prompt, 0, -1, false, { words })
end

local function press(keys)
  api.nvim_feedkeys(api.nvim_replace_termcodes(keys, true, false, true), "xt", false)
end

local function listed(words)
  local fine = vim.wait(LIMIT, function()
    return list():find(words, 1, true)
  end, 5)
  assert(fine, ("waited in vain for «%s» in the list, which holds «%s»"):format(words, list():sub(1, 300)))
end

local function asked(method)
  return vim.tbl_filter(function(request)
    return request.method == method
  end, server.requests)
end

local function reset()
  press("<Esc>")
  if search.current then
    press("<Esc>")
  end
  related.close()
  vim.wait(50, function()
    return not search.current
  end)
  vim.cmd("silent! tabonly! | silent! only! | enew!")
end

local tests = {}
local function test(name, run)
  tests[#tests + 1] = { name, run }
end

test("an answer of 200 kB in pieces of 64 bytes arrives whole", function()
  local text = ("Blässhuhn 水鳥 "):rep(12000) -- a character is split in most pieces
  serve(function(request, _, pipe)
    local line = vim.json.encode({ id = request.id, result = { hits = { hit("Heron.md", 3, "Heron", { text = text }) } } }) .. "\n"
    assert(#line > 200000)
    local at = 1
    local function more()
      if at <= #line then
        pipe:write(line:sub(at, at + 63), more)
        at = at + 64
      end
    end
    more()
  end)
  vim.cmd("Situated heron")
  listed("Heron.md:3")
  equal(search.current.hits[1].text == text, true, "the text is whole")
end)

test("framing looks at each byte once", function()
  for _, size in ipairs({ 200000, 2000000 }) do
    local scanned, joined, lines = 0, 0, {}
    local feed = client.lines(function(line)
      lines[#lines + 1] = line
    end, function(piece, what, from, plain)
      local at, stop = piece:find(what, from, plain)
      scanned = scanned + (at or #piece) - from + 1
      return at, stop
    end, function(pieces)
      local line = table.concat(pieces)
      joined = joined + #line
      return line
    end)
    local sent = ("x"):rep(size) .. "\n\nab\226\128\168c\nrest"
    for at = 1, #sent, 64 do
      feed(sent:sub(at, at + 63))
    end
    equal({ #lines[1], lines[2], lines[3], #lines }, { size, "", "ab\226\128\168c", 3 }, "lines")
    assert(scanned <= #sent and joined <= #sent, ("%d bytes: %d scanned, %d joined"):format(#sent, scanned, joined))
  end
end)

test("a daemon that closes within an answer is reported, and the next search works", function()
  local broken = true
  serve(function(request, send, pipe)
    if broken then
      broken = false
      pipe:write('{"id":' .. request.id .. ',"result":{"hits":[', function()
        pipe:close()
      end)
    else
      answer(hit("Heron.md", 3))(request, send)
    end
  end)
  vim.cmd("Situated heron")
  listed("ended the connection")
  type_query("herons")
  listed("Heron.md:3")
end)

test("nonsense is reported", function()
  serve(function(_, _, pipe)
    pipe:write("HTTP/1.1 400\n")
  end)
  vim.cmd("Situated heron")
  listed("does not speak as situated does")
end)

test("an error shows its message and its hint", function()
  serve(function(request, send)
    send({ id = request.id, error = { code = 1010, message = "the index\27[31m failed", data = { kind = "storage", hint = "rebuild it" } } })
  end)
  vim.cmd("Situated heron")
  listed("rebuild it")
  equal(list(), "the index?[31m failed\nrebuild it")
end)

test("an older answer that comes late is dropped", function()
  local first
  serve(function(request, send)
    if request.method ~= "search" then
      return
    elseif not first then
      first = request
    else
      answer(hit("New.md", 2))(request, send)
      answer(hit("Old.md", 1))(first, send)
      send({ id = "end" })
      first.late = true
    end
  end)
  vim.cmd("Situated old")
  wait("the first request", function()
    return first
  end)
  type_query("new")
  listed("New.md:2")
  wait("the late answer", function()
    return first.late
  end)
  type_query("new again") -- its answer comes behind the late one
  wait("the third answer", function()
    return #asked("search") == 3 and not search.current.request
  end)
  equal(list():find("Old.md"), nil, "the old answer")
  equal(asked("cancel")[1].params.id, first.id, "the cancelled request")
  equal(asked("search")[2].params.prefix, true, "prefix")
end)

local NAMES = { "--help.md", "a b%#.md", "it's \"q\" | quit!.md", "$HOME `x` *.md", "two\nlines.md", "+5 \\ [x]{y}.md", "<cword>~.md" }
for _, name in ipairs(NAMES) do
  test("opens " .. vim.inspect(name) .. " at its line", function()
    write(name, { "one", "two", "three: " .. name:gsub("\n", " "), "four" })
    serve(answer(hit(name, 3)))
    vim.cmd("Situated three")
    listed("snippet")
    equal(#vim.split(list(), "\n"), 2, "lines in the list")
    press("<CR>")
    wait("the search to close", function()
      return not search.current
    end)
    equal(api.nvim_buf_get_name(0), root .. "/" .. name, "file")
    equal(api.nvim_win_get_cursor(0)[1], 3, "line")
    equal(api.nvim_get_current_line(), "three: " .. name:gsub("\n", " "), "text")
    equal(#api.nvim_list_wins(), 1, "windows")
  end)
end

test("keys move, and open in splits and tabs", function()
  write("A.md", { "a", "b" })
  write("B.md", { "a", "b" })
  serve(answer(hit("A.md", 1), hit("B.md", 9)))
  for key, windows in pairs({ ["<C-x>"] = 2, ["<C-s>"] = 2, ["<C-v>"] = 2, ["<C-t>"] = 1 }) do
    vim.cmd("Situated b")
    listed("B.md:9")
    press("<C-n><Down><C-p><Up><C-n>" .. key)
    wait("the search to close", function()
      return not search.current
    end)
    equal(vim.fn.expand("%:t"), "B.md", "file")
    equal(api.nvim_win_get_cursor(0)[1], 2, "line beyond the end")
    equal(#api.nvim_tabpage_list_wins(0), windows, "windows after " .. key)
    equal(#api.nvim_list_tabpages(), key == "<C-t>" and 2 or 1, "tabs after " .. key)
    vim.cmd("silent! tabonly! | silent! only! | enew!")
  end
  vim.cmd("Situated b")
  press("<C-c>")
  wait("the search to close", function()
    return not search.current
  end)
end)

test("the preview shows the place", function()
  serve(answer(hit("A.md", 3)))
  vim.cmd("Situated three")
  listed("A.md:3")
  local state = search.current
  equal(api.nvim_buf_get_lines(state.preview, 0, -1, false), { "one", "two", "three", "four" }, "preview")
  equal(api.nvim_win_get_cursor(state.windows.preview)[1], 3, "line")
end)

test("the preview of a note with the line ends of Windows has none of them", function()
  serve(answer(hit("Odd.md", 2, "Odd", { window = "# Odd\r\n\r\nA heron\r\nat rest", window_lines = { 1, 4 } })))
  vim.cmd("Situated odd")
  listed("Odd.md:2")
  equal(api.nvim_buf_get_lines(search.current.preview, 0, -1, false), { "# Odd", "", "A heron", "at rest" }, "preview")
end)

test("a message that holds its hint is said once", function()
  serve(function(request, send)
    local hint = "there are: My Notes, Work"
    send({ id = request.id, error = { code = 1005, message = "vault `x` is not known; " .. hint, data = { hint = hint } } })
  end)
  vim.cmd("Situated heron")
  listed("is not known")
  equal(list(), "vault `x` is not known; there are: My Notes, Work")
end)

test("a name that is no UTF-8 is opened as it is on the disk", function()
  write("bad\255\128name.md", { "one", "two" })
  serve(answer(hit("bad\239\159\191\239\158\128name.md", 2)))
  vim.cmd("Situated latin")
  listed("snippet")
  press("<CR>")
  wait("the search to close", function()
    return not search.current
  end)
  equal(api.nvim_get_current_line(), "two", "text")
end)

test("control characters in titles are harmless", function()
  serve(answer(hit("x\27]0;y\7.md", 1, "<b>&\27[2J\194\155\nnext\226\128\174rev\226\128\168\0")))
  vim.cmd("Situated x")
  listed("snippet")
  equal(vim.split(list(), "\n"), { "<b>&?[2J? next?rev?? › Part", "  x?]0;y?.md:1  a snippet" }, "list")
end)

local function paned(words)
  local text = ""
  local fine = vim.wait(LIMIT, function()
    local pane = related.pane()
    text = pane and table.concat(api.nvim_buf_get_lines(pane.buffer, 0, -1, false), "\n") or ""
    return text:find(words, 1, true)
  end, 5)
  assert(fine, ("waited in vain for «%s» in the pane, which holds «%s»"):format(words, text))
end

local function near(request, send)
  answer(hit("near.md", 2, "Near " .. request.params.path .. " " .. request.params.line .. " " .. #asked("related")))(request, send)
end

test("the related pane follows the buffer, and is refreshed after saving", function()
  write("A.md", { "a", "b" })
  write("B.md", { "a", "b" })
  write("near.md", { "a", "b" })
  serve(near)
  vim.cmd("edit " .. vim.fn.fnameescape(root .. "/A.md"))
  vim.cmd("SituatedRelated")
  paned("Near A.md 1 1")
  vim.cmd("edit " .. vim.fn.fnameescape(root .. "/B.md"))
  paned("Near B.md 2 2")
  vim.cmd("silent write")
  paned("Near B.md 2 3")
  equal(asked("related")[1].params.vault, "notes", "vault")
  local pane = related.pane()
  local main = api.nvim_get_current_win()
  api.nvim_set_current_win(vim.fn.bufwinid(pane.buffer))
  press("<CR>")
  equal({ vim.fn.expand("%:t"), api.nvim_win_get_cursor(0)[1], api.nvim_get_current_win() }, { "near.md", 2, main }, "opened")
  vim.cmd("SituatedRelated")
  equal(related.pane(), nil, "closed")
end)

test("a hit that is chosen while the cursor is in the pane opens beside the pane", function()
  serve(function(request, send)
    if request.method == "related" then
      near(request, send)
    else
      answer(hit("B.md", 2))(request, send)
    end
  end)
  vim.cmd("edit " .. vim.fn.fnameescape(root .. "/A.md"))
  local main = api.nvim_get_current_win()
  vim.cmd("SituatedRelated")
  paned("Near A.md 1")
  local pane = related.pane()
  api.nvim_set_current_win(vim.fn.bufwinid(pane.buffer))
  vim.cmd("Situated b")
  listed("B.md:2")
  press("<CR>")
  wait("the search to close", function()
    return not search.current
  end)
  equal({ vim.fn.expand("%:t"), api.nvim_get_current_win() }, { "B.md", main }, "opened")
  equal(related.pane() == pane and api.nvim_buf_is_valid(pane.buffer), true, "the pane stays")
end)

test("vaults that are renamed are asked about by their new names", function()
  local pipe
  serve(function(request, send, of)
    pipe = of
    near(request, send)
  end)
  vim.cmd("edit " .. vim.fn.fnameescape(root .. "/A.md"))
  vim.cmd("SituatedRelated")
  paned("Near A.md 1 1")
  server.vault = "office"
  pipe:close()
  wait("the end of the connection", function()
    return not related.pane().client.ready
  end)
  vim.cmd("edit " .. vim.fn.fnameescape(root .. "/B.md"))
  paned("Near B.md 2 2")
  equal(asked("related")[2].params.vault, "office", "vault")
end)

test("an event of the index refreshes the pane", function()
  local send_event
  serve(function(request, send)
    send_event = send
    near(request, send)
  end)
  vim.cmd("edit " .. vim.fn.fnameescape(root .. "/A.md"))
  vim.cmd("SituatedRelated")
  paned("Near A.md 1 1")
  send_event({ method = "event", params = { kind = "index", vault = "notes", seq = 2 } })
  paned("Near A.md 1 2")
end)

test("the related pane is quietly empty for a file outside of vaults, or unknown to the daemon", function()
  serve(function(request, send)
    if request.params.path == "unknown.md" then
      send({ id = request.id, error = { code = 1005, message = "no such note", data = { kind = "not_found" } } })
    else
      near(request, send)
    end
  end)
  write("unknown.md", { "a" })
  vim.cmd("edit " .. vim.fn.fnameescape(root .. "/A.md"))
  vim.cmd("SituatedRelated")
  local function empty()
    local pane = related.pane()
    return not pane.request and vim.deep_equal(api.nvim_buf_get_lines(pane.buffer, 0, -1, false), { "" })
  end
  for _, other in ipairs({ base .. "/outside.md", root .. "/unknown.md" }) do
    paned("Near A.md")
    vim.cmd("edit " .. vim.fn.fnameescape(other))
    wait("the pane to be empty", empty)
    vim.cmd("edit " .. vim.fn.fnameescape(root .. "/A.md"))
  end
  equal(vim.v.errmsg, "", "messages")
end)

test("without a daemon it says how to start one, and searches once there is one", function()
  serve(answer(hit("Heron.md", 3)))
  vim.env.SITUATED_SOCKET = base .. "/none"
  vim.cmd("Situated heron")
  listed("situated run VAULT")
  listed("situated service install")
  local window = search.current.windows.list
  assert(vim.wo[window].wrap, "a message is shown whole")
  vim.env.SITUATED_SOCKET = server.path
  type_query("herons")
  listed("Heron.md:3")
  assert(not vim.wo[window].wrap, "a hit has its lines")
end)

test("the socket is asked of the binary, which may be missing", function()
  serve(answer(hit("Heron.md", 3)))
  vim.env.SITUATED_SOCKET = nil
  situated.setup({ command = base .. "/missing" })
  vim.cmd("Situated heron")
  listed("does not say where the daemon is")
  local script = assert(io.open(base .. "/fake", "w"))
  script:write(("#!/bin/sh\n[ $# = 1 ] && [ $1 = socket ] && echo '%s'\n"):format(server.path))
  script:close()
  uv.fs_chmod(base .. "/fake", 493)
  situated.setup({ command = base .. "/fake" })
  press("<Esc>")
  vim.cmd("Situated heron")
  listed("Heron.md:3")
end)

if vim.env.SITUATED_TEST_SOCKET then
  local real = vim.env.SITUATED_TEST_SOCKET
  local vault = uv.fs_realpath(vim.env.SITUATED_TEST_VAULT)
  local path, line = vim.env.SITUATED_TEST_EXPECT:match("^(.*):(%d+)$")
  test("a real daemon finds " .. vim.env.SITUATED_TEST_EXPECT .. ", and what is near", function()
    vim.env.SITUATED_SOCKET = real
    vim.cmd("Situated")
    type_query(vim.env.SITUATED_TEST_QUERY)
    listed(path .. ":" .. line)
    equal(situated.line_of(search.current.hits[1]), tonumber(line), "line of the first hit")
    press("<CR>")
    wait("the note", function()
      return uv.fs_realpath(api.nvim_buf_get_name(0)) == vault .. "/" .. path
    end)
    equal(api.nvim_win_get_cursor(0)[1], tonumber(line), "line")
    vim.cmd("SituatedRelated")
    wait("related notes", function()
      return #related.pane().hits > 0
    end)
  end)
end

local failed = 0
for _, each in ipairs(tests) do
  vim.v.errmsg = ""
  local fine, failure = xpcall(each[2], debug.traceback)
  io.stdout:write((fine and "ok      " or "FAILED  ") .. each[1] .. "\n" .. (fine and "" or failure .. "\n"))
  failed = failed + (fine and 0 or 1)
  pcall(reset)
end
io.stdout:write(("%d tests, %d failed\n"):format(#tests, failed))
if server then
  server.stop()
end
vim.fn.delete(base, "rf")
vim.cmd(failed > 0 and "cquit 1" or "qall!")
