-- How far ahead calls under a limit have put a client, in microseconds.
-- KEYS: the limit and the client. ARGV: what the calls cost, how far ahead it is by what the teller knows, and the furthest that counts.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local at = redis.pcall('GET', KEYS[1])
at = type(at) == 'string' and tonumber(at)
local ahead = tonumber(ARGV[2])
if at and at > now then
  ahead = at - now + ARGV[1]
end
ahead = math.min(ahead, tonumber(ARGV[3]))
if ahead > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', now + ahead), 'PX', math.ceil(ahead / 1000) + 1)
end
return ahead
