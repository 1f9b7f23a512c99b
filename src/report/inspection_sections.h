// The parts of an inspection's table that go through layers and tensors. Each returns whole lines,
// or nothing where there is nothing to say.
#ifndef SHARDPLAN_REPORT_INSPECTION_SECTIONS_H_
#define SHARDPLAN_REPORT_INSPECTION_SECTIONS_H_

#include <cstddef>
#include <string>

#include "shardplan/base/bytes.h"
#include "shardplan/plan/inspection.h"

namespace shardplan {

// Layers that hold the same on one line, then what belongs to no layer.
std::string LayerSection(const Inspection& inspection, size_t width);
// Where there are several stages.
std::string StageSection(const Inspection& inspection, size_t width);
std::string LargestSection(const Inspection& inspection, size_t width);

// A bar for one of several sizes, the largest of which is `most`.
std::string BarOf(Bytes bytes, Bytes most);

}  // namespace shardplan

#endif  // SHARDPLAN_REPORT_INSPECTION_SECTIONS_H_
