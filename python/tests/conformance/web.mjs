// Runs jobs on onnxruntime-web's WebAssembly build.
//
//   node web.mjs MODULE JOBS.json
//
// MODULE is the path of onnxruntime-web's module. A job is {model, dtype, dims, x, mask, y}: paths of an
// ONNX file and of raw little-endian inputs for each batch, and where the output goes. Prints the
// version and the number of jobs done as JSON.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const [, , modulePath, jobsPath] = process.argv;
const ort = await import(pathToFileURL(modulePath).href);
ort.env.wasm.numThreads = 1;

const read = (path) => {
  const bytes = fs.readFileSync(path);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
};

const jobs = JSON.parse(fs.readFileSync(jobsPath, "utf8"));
for (const { model, dtype, batches } of jobs) {
  const session = await ort.InferenceSession.create(new Uint8Array(read(model)), { executionProviders: ["wasm"] });
  const Numbers = dtype === "float64" ? Float64Array : Float32Array;
  for (const { dims, x, mask, y } of batches) {
    const feeds = {
      x: new ort.Tensor(dtype, new Numbers(read(x)), dims),
      mask: new ort.Tensor("bool", new Uint8Array(read(mask)), dims.slice(0, 2)),
    };
    const { y: output } = await session.run(feeds);
    if (output.type !== dtype) throw new Error(`the output is ${output.type}`);
    fs.writeFileSync(y, new Uint8Array(output.data.buffer, output.data.byteOffset, output.data.byteLength));
  }
  await session.release();
}
console.log(JSON.stringify({ version: ort.env.versions.web, jobs: jobs.length }));
