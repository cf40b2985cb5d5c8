-- situated editor plugin: the commands of the Neovim plugin.
-- Nothing else is loaded before one of them is used, so it costs no time at startup.

if vim.g.loaded_situated then
  return
end
vim.g.loaded_situated = true

vim.api.nvim_create_user_command("Situated", function(command)
  require("situated").search(command.args)
end, { nargs = "*", desc = "Search notes while typing" })

vim.api.nvim_create_user_command("SituatedRelated", function()
  require("situated").related()
end, { desc = "Show or hide the notes near this one" })
