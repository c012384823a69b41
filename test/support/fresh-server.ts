import { type ApiServer, startApiServer } from './api-server.ts'

/** An API server without objects, of each test that imports it. */
export let server: ApiServer

beforeEach(async () => {
  server = await startApiServer()
})

afterEach(() => server.close())
