-- What a client has to its name: points that fade, and whether they make a bad name. As one number: thousandths of points, twice, and 1 if bad.
-- KEYS: the client. ARGV: the points to add; the points, and 1 if bad, by what the teller knows.
-- Set before this: after how many milliseconds points are halved (half), the most there are (most), from how many a name is bad (ill), below how
-- many it no longer is (good), how many are worth keeping (worth), and below how many none are left (faded).
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local more, own = tonumber(ARGV[1]), tonumber(ARGV[2])

local function judge(points, bad)
  return points >= (bad and good or ill)
end

local held = redis.pcall('GET', KEYS[1])
local points, at, bad = string.match(type(held) == 'string' and held or '', '^([%d.]+) (%d+) ([01])$')
points = tonumber(points)
local keep
if points then
  points = points * 2 ^ (math.min(0, at - now) / half)
  bad = judge(points, bad == '1')
  points = math.max(0, math.min(most, points + more))
  bad = judge(points, bad)
  if points < faded then
    redis.call('DEL', KEYS[1])
  end
  keep = points >= faded and more ~= 0
else
  points, bad = own, ARGV[3] == '1'
  keep = points >= worth
end
if keep then
  local left = math.ceil(half * math.log(points / faded) / math.log(2)) + 1
  redis.call('SET', KEYS[1], string.format('%.3f %.0f %d', points, now, bad and 1 or 0), 'PX', left)
end
return math.floor(points * 1000 + 0.5) * 2 + (bad and 1 or 0)
