// Settings of requests to URLs that tenants chose, and of the pages for people.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig } from './config.ts'

test('settings that name no network, host or proxy are refused at the start', () => {
  const parse = (allow: string, proxy?: string) =>
    parseConfig({
      CUSTOS_EGRESS_ALLOW: allow,
      ...(proxy === undefined ? {} : { CUSTOS_EGRESS_PROXY: proxy }),
    }).egress
  assert.deepEqual(parse(' 10.2.0.0/16, hooks.intra ,fd00::/8,10.3.0.1').allow, [
    '10.2.0.0/16',
    'hooks.intra',
    'fd00::/8',
    '10.3.0.1',
  ])
  for (const wrong of ['10.0.0.0/33', '10.0.0/8', 'https://hooks.intra', 'a b', '*', 'fd00::/129'])
    assert.throws(() => parse(wrong), /CUSTOS_EGRESS_ALLOW/, wrong)
  assert.equal(parse('', 'http://proxy.intra:3128').proxy, 'http://proxy.intra:3128')
  for (const wrong of [
    'proxy:3128',
    'socks5://proxy:1',
    'http://u:p@proxy:1',
    'http://:p@proxy:1',
    'http://proxy/x',
  ])
    assert.throws(() => parse('', wrong), /CUSTOS_EGRESS_PROXY/, wrong)
})

test('pages for people are on, or off, and nothing between', () => {
  assert.deepEqual(
    [parseConfig({}).pages, parseConfig({ CUSTOS_CONSOLE: 'off' }).pages],
    [true, false],
  )
  for (const wrong of ['', 'false', 'OFF'])
    assert.throws(() => parseConfig({ CUSTOS_CONSOLE: wrong }), /CUSTOS_CONSOLE must be on or off/)
})

test('hosts and origins that no request could name are refused at the start', () => {
  const { allowed_hosts } = parseConfig({
    CUSTOS_ALLOWED_HOSTS:
      'Memory.internal, box:8420,[fd00::1]:80,http://localhost:3000/,https://box:443,chrome-extension://Abc',
  })
  assert.deepEqual(allowed_hosts, [
    'memory.internal',
    'box:8420',
    '[fd00::1]:80',
    'http://localhost:3000',
    'https://box',
    'chrome-extension://abc',
  ])
  const listening = ['::1', 'fe80::1%eth0', 'my_box.lan', '0.0.0.0', 'box.lan.', 'bücher']
  assert.equal(parseConfig({ CUSTOS_HOST: '[::1]' }).host, '::1')
  for (const host of listening)
    assert.equal(parseConfig({ CUSTOS_HOST: host, CUSTOS_METRICS_PORT: '1' }).host, host)
  const wrong = {
    CUSTOS_ALLOWED_HOSTS: [
      ...['box/', 'box/path', '*.internal', 'u@box', 'ftp://box/', '::1', 'box:x', 'a b'],
      ...['http://box/path', 'http://box?x', 'tauri://*', 'http://u@box', 'http://*.box'],
    ],
    CUSTOS_HOST: ['http://127.0.0.1', '127.0.0.1:80', 'localhost/', '*', 'u@localhost'],
    CUSTOS_PUBLIC_URL: ['box.example', 'https://*.example', 'https://u@box.example', 'https://b/x'],
  }
  for (const [name, values] of Object.entries(wrong))
    for (const value of values)
      assert.throws(() => parseConfig({ [name]: value }), new RegExp(`${name} must be `), value)
})
