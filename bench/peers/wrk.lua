-- wrk.lua: sends a request for each line of a file, in turn: a path with GET, a JSON object with POST to /v1/assess.
-- Arguments: the file, a bearer token.
-- The requests are formatted before the load begins, so that Lua only returns the next request during the load.

local requests = {}
local i = 0

function init(arguments)
  for path in io.lines(arguments[1]) do
    local headers = { Authorization = "Bearer " .. arguments[2] }
    if path:sub(1, 1) == "{" then
      headers["Content-Type"] = "application/json"
      requests[#requests + 1] = wrk.format("POST", "/v1/assess", headers, path)
    else
      requests[#requests + 1] = wrk.format("GET", path, headers)
    end
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
