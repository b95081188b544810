// Scripts that Valkey runs, each as one step and by its own clock. KEYS[1] holds the term of the
// counters: with another one, or none after a restart, they answer -1.
import { script } from "./valkey.ts";

const BEGIN = `if redis.call('GET',KEYS[1])~=ARGV[1] then return -1 end
local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000) `;

/**
 * Counts a request: its times, a closing; maximum, window, closing in ms. A time is stored one
 * later, so that no window is short by a part of a millisecond.
 */
export const TAKE = script(`${BEGIN}
local max,window,closing=tonumber(ARGV[2]),tonumber(ARGV[3]),tonumber(ARGV[4])
local closed=redis.call('GET',KEYS[3])
if closed and tonumber(closed)>=max then return math.max(1,redis.call('PTTL',KEYS[3])) end
local first=redis.call('LINDEX',KEYS[2],max-1)
local wait=first and first+window-now or 0
if wait>0 then
if closing==0 then return wait end
redis.call('SET',KEYS[3],max,'PX',closing) return closing end
redis.call('LPUSH',KEYS[2],string.format('%.0f',now+1))
redis.call('LTRIM',KEYS[2],0,max-1)
redis.call('PEXPIRE',KEYS[2],window)
return 0`);

/**
 * Reserves slots for a process, in a hash by processes: how many it keeps and wants, and their
 * maximum, -1 for none. Returns how many it may use. Where another one waits for its share, that is
 * at most the own share. What a division leaves goes round in turns of about a second: `turn` is
 * the time by which a process comes first, kept while it wants none: one with few callers would
 * always come first. Slots of a process that has not renewed them lapse.
 */
export const HOLD = script(`${BEGIN}
local us=t[1]*1e6+t[2]
local keep,wanted,max=tonumber(ARGV[3]),tonumber(ARGV[4]),tonumber(ARGV[5])
local me,others,sum={epoch=tonumber(ARGV[2]),slots=0,turn=0},{},0
local all=redis.call('HGETALL',KEYS[2])
for i=1,#all,2 do
local slots,ends,want,turn=all[i+1]:match('(%d+) (%d+) ?(%d*) ?(%d*)')
local one={epoch=tonumber(all[i]),slots=tonumber(slots),want=tonumber(want) or 0}
one.turn=tonumber(turn) or 0
if tonumber(ends)<now then redis.call('HDEL',KEYS[2],all[i])
elseif one.epoch==me.epoch then me=one
elseif one.slots+one.want>0 then sum=sum+one.slots others[#others+1]=one end end
local granted,least=wanted,math.huge
if max>=0 then
granted=math.max(0,math.min(wanted,max-sum))
local n=#others+1
least=math.floor(max/n)
if me.slots>least and us-me.turn>1e6 then me.turn=us end
local function isFirst(a,b) return a.turn<b.turn or (a.turn==b.turn and a.epoch<b.epoch) end
local function share(one)
local rank=isFirst(me,one) and 1 or 0
for _,other in ipairs(others) do if isFirst(other,one) then rank=rank+1 end end
return least+(rank<max%n and 1 or 0) end
for _,one in ipairs(others) do
if one.slots<math.min(one.want,share(one)) then granted=math.min(granted,share(me)) end end end
local slots=math.max(keep,granted)
if slots>me.slots then me.turn=us
elseif me.slots>least and slots<=least then me.turn=us+1e6 end
redis.call('HSET',KEYS[2],ARGV[2],
string.format('%.0f %.0f %.0f %.0f',slots,now+15000,wanted,me.turn))
redis.call('PEXPIRE',KEYS[2],15000)
return granted`);

/** Writes the counter that processes have reported: pairs of the age and number of requests. */
export const FILL = script(`
local t=redis.call('TIME') local now=t[1]*1000+math.floor(t[2]/1000)
for i=1,#ARGV,2 do
local age=tonumber(ARGV[i])
if age<0 then redis.call('SET',KEYS[2],1e15,'PX',-age) else
local at=string.format('%.0f',now+1-age)
for _=1,ARGV[i+1] do redis.call('RPUSH',KEYS[1],at) end
redis.call('PEXPIRE',KEYS[1],60000) end end
return 0`);

/** Writes the slots of one process. */
export const FILL_SLOTS = script(`
local t=redis.call('TIME')
redis.call('HSET',KEYS[1],ARGV[1],ARGV[2]..string.format(' %.0f',t[1]*1000+15000))
return redis.call('PEXPIRE',KEYS[1],15000)`);

/** Opens the counters of a term, whose key was written last. */
export const OPEN = script("redis.call('SET',KEYS[1],ARGV[1]) return 0");
