#include "engine/argument_list.h"

#include <set>

namespace shardplan {

void ArgumentList::Extras(const std::vector<std::string>& words) {
  const std::set<std::string> own(argv_.begin(), argv_.end());
  for (size_t begin = 0; begin < words.size();) {
    size_t end = begin + 1;
    while (end < words.size() && !words[end].starts_with("--")) ++end;
    const std::string name = words[begin].substr(0, words[begin].find('='));
    if (!own.contains(name)) {
      argv_.insert(argv_.end(), words.data() + begin, words.data() + end);
    }
    begin = end;
  }
}

std::string ServedModel(const std::string& model) {
  return model.starts_with('-') ? "./" + model : model;
}

}  // namespace shardplan
