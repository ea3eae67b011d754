// Where the time of a step goes, part by part, when somebody wants to know.
#pragma once
#include <cstdint>

#include "core.h"

namespace tt {

// A steady clock's reading in nanoseconds.
int64_t clock_ns();

// Adds the time since the lap before to a part of a layer. Without a place to add it to, it never
// looks at a clock.
class Laps {
  public:
    // to: [layers + 1, TT_PARTS], or null
    explicit Laps(int64_t* to) : to_(to), last_(to == nullptr ? 0 : clock_ns()) {}

    void lap(int layer, tt_part part) {
        if (to_ == nullptr) return;
        const int64_t now = clock_ns();
        to_[int64_t{layer} * TT_PARTS + part] += now - last_;
        last_ = now;
    }

  private:
    int64_t* const to_;
    int64_t last_;
};

}  // namespace tt
