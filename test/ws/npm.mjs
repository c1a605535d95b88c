// Asks a gateway over npm's ws, as a program would: node npm.mjs WS-URL KEY.
// One JSON object says what came.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
const require = createRequire(pathToFileURL(process.cwd() + '/'))
const { WebSocket } = require('ws')

const [url, key] = process.argv.slice(2)
const socket = new WebSocket(url + '/weir/ws', { headers: { Authorization: 'Bearer ' + key } })
const seen = { extensions: '', text: '', seqs: [], ends: [], pings: 0, close: 0 }
const send = m => socket.send(JSON.stringify(m))
const body = { model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] }

socket.on('ping', () => seen.pings++)
socket.on('message', (data, binary) => {
  if (binary) throw new Error('a binary message came')
  const m = JSON.parse(data)
  switch (m.type) {
    case 'hello':
      seen.extensions = socket.extensions
      send({ type: 'start', id: 'a', path: '/v1/chat/completions', body })
      break
    case 'event':
      seen.seqs.push(m.seq)
      if (m.data !== '[DONE]') seen.text += JSON.parse(m.data).choices[0]?.delta.content ?? ''
      break
    case 'end':
      seen.ends.push([m.turn, m.outcome, m.code])
      if (m.turn === 1) send({ type: 'append', id: 'a', add: { messages: [{ role: 'user', content: 'more' }] } })
      else socket.send(Buffer.from([1, 2, 3])) // binary: refused plainly
  }
})
socket.on('close', code => { seen.close = code; console.log(JSON.stringify(seen)) })
