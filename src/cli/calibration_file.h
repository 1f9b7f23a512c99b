// --calibration: figures of real runs, read from YAML.
#ifndef SHARDPLAN_CLI_CALIBRATION_FILE_H_
#define SHARDPLAN_CLI_CALIBRATION_FILE_H_

#include <memory>
#include <string>

#include "shardplan/base/result.h"
#include "shardplan/plan/calibration.h"

namespace shardplan::cli {

// Reads a file of this form (docs/calibration.md):
//
//   runs:
//     - name: eager, 8,192 tokens        # optional
//       model: kimi-k3                   # a family, or the architecture of config.json
//       deployment:                      # options of `shardplan plan`, without dashes
//         gpu: h20-96
//         engine: vllm@0.31.0
//         tensor-parallel-size: 8
//         enforce-eager: true
//       stage: 0                         # whose rank printed it, where there are several
//       measured:
//         available_kv: 16.12GiB         # or num_blocks, or kv_tokens; and terms
//
// Fails with kIo, and with kInvalidInput for whatever is not as it should be: the message has the
// line, and for unknown keys the close ones.
Result<std::shared_ptr<const Calibration>> ReadCalibration(const std::string& path);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_CALIBRATION_FILE_H_
