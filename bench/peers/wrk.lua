-- wrk.lua: GET requests of the paths in a file, in turn. Arguments: the file, a bearer token.
-- Requests are made before the load: during it Lua only returns the next one.

local requests = {}
local i = 0

function init(arguments)
  for path in io.lines(arguments[1]) do
    requests[#requests + 1] = wrk.format("GET", path, { Authorization = "Bearer " .. arguments[2] })
  end
end

function request()
  i = i % #requests + 1
  return requests[i]
end

function done(summary)
  local e = summary.errors
  local broken = e.connect + e.read + e.write + e.timeout
  io.write(string.format("RESULT %d %d %d %d\n", summary.requests, e.status, broken, summary.duration))
end
