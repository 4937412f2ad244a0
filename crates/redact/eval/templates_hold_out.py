"""Templates of the hold-out, the twelfth: written after the eleventh was opened, never tuned on, never looked into."""

TEXT = [
    "Cardiology follow-up for {name} on {date}. Since the stent was placed there has been no angina. Blood pressure today 128/76, pulse 64 and regular. {first} walks to the market in {city} every morning. Continue aspirin and atorvastatin. Next appointment with {doctor} in one year.",
    "{relative} brought {first} to the emergency room because of a swollen ankle. They had been hiking near {city}. The radiograph shows no fracture. Elastic bandage, ice, paracetamol. Home address: {address}. Telephone: {phone}.",
    "Name: {name}\nSex: female\nDate of birth: {dob}\nAddress: {address}\nPhone: {phone}\nNext of kin: {relative}\nReferring physician: {doctor}\nChief complaint: vertigo for two weeks",
    "Dr. {doctor_last} performed the cataract operation on the right eye of {last} on {date} under local anaesthesia. Lens {device} was implanted. Eye drops four times a day. {nurse} will remove the patch tomorrow.",
    "Nursing assessment: patient {name}, room {room}, is oriented to person and place. Skin dry and intact. Uses a cane. Wears dentures. {relative_first}, the granddaughter, visits daily and brings fruit from {city}.",
    "To whom it may concern\n\n{name} of {street}, {city}, has been treated in our outpatient unit since {date} for a depressive episode. Sick leave is recommended for another month.\n\n{doctor}\n{phone}",
    "The patient was discharged to {street}, {zip} {city}, where {relative} will look after him. Instructions were given to {relative_first} as well. Home visit by {nurse} on {date}.",
    "Referral to dermatology. Patient: {last}, {first}, born {dob}. Reason: growing pigmented lesion on the left shoulder. History: sunburns as a child in {city}. Medication: none. Insurance number {plan}. Sincerely, {doctor}",
    "Mr {last} was admitted from {city} with acute urinary retention. A catheter was inserted and drained 900 ml. PSA 12. Urology will see him. His wife {relative} was informed by {nurse}.",
    "Allergy testing {date}: {first} reacts to birch and hazel. {relative_first} has the same allergy. An emergency kit was prescribed. Prescription sent to {email}.",
    "Social history: {name} lives with {relative} in {city}. Retired bus driver. Smokes ten cigarettes a day. Drinks wine on weekends. Two sons, one of them, {relative_first}, in the army.",
    "Call log\n{date} {nurse} called {relative}, no answer\n{date} {nurse} called again, spoke with {relative_first}\n{date} {first} called back from {phone}, wants to cancel",
    "Autopsy request. Deceased: {name}, {old_age} years. Last address: {address}. Time of death confirmed by {doctor}. Family contact: {relative}, {phone}. Suspected pulmonary embolism.",
    "Breast clinic. {name} noticed a lump three weeks ago. Mammography and ultrasound show a cyst. Aspirated 8 ml of clear fluid. I have reassured her. She travels back to {city} tonight. Copy: {doctor}, {street}, {city}.",
    "Insurance form. Insured person {name}, identification number {ssn}. Accident on {date} in {city}: slipped on ice in front of {street}. Fracture of the radius. Treating physician {doctor}. Bank account {account}.",
    "Good afternoon, this is a message for {name}. The results of your blood test are ready. Please call the clinic of {doctor} at {phone}. If we do not hear from you we will write to {address}.",
    "Ultrasound of the abdomen, {date}. Patient {first} {last}, number {mrn}. Liver enlarged, no focal lesions. Spleen normal. Kidneys without obstruction. Examiner: {nurse}. Sent to {doctor_last} by fax {fax}.",
    "Physiotherapy for {last}: ten sessions for the frozen shoulder. {first} missed two because the bus from {city} did not run. Range of motion improved. Report to {doctor}.",
    "Complaint received from {relative}, {street}, {city}, {email}. The complainant states that {name} was left in the corridor for six hours. {nurse}, who was on duty, has been asked for a statement by {date}.",
    "Transfusion record: unit {case} given to {name}, {dob}. Started by {nurse}, checked by {doctor}. No reaction. Haemoglobin rose from 6.8 to 8.1.",
    "{first} is the second child of {relative} and was born in {city}. Development normal. Walks, says five words. {relative} is worried about the appetite. Weight on the 40th percentile. {doctor_last}",
    "The ambulance with the plate {plate} collected {name} at {street}, {city}. Oxygen saturation was 82 percent. {relative} travelled with us. Handover to {doctor} at the hospital.",
    "Research contact sheet: participant {case}, {name}, {phone}, {email}. Consent signed {date}. Interviewer {nurse}. Travel costs from {city} refunded to {account}. Logged in from {ip} at {url}.",
    "Eye report for driving licence {licence}. {name}, {address}. Visual acuity 0.8 on both sides with glasses. Fit to drive. {doctor}, {date}",
    "Dear colleague,\nthank you for looking after {name}, who fell ill with dengue on a journey to {city}. Platelets have recovered to 180. {first} feels well. Please repeat the count on {date}.\nBest regards,\n{doctor}\n{street}\n{zip} {city}",
    "Conversation with {relative}, brother of {last}. He lives in {city} and cannot visit. He agrees with the palliative approach. {relative} can be called at any time on {spoken_phone}. {hidden}",
]

JSON = [
    {"name": "{name}", "address": "{address}", "phone": "{phone}", "complaint": "Cough and fever for a week"},
    {"events": [{"by": "{nurse}", "text": "{first} ate half of lunch. {relative} called from {city}."}, {"by": "{doctor}", "text": "Seen {last}, lungs clear."}]},
    {"referral": {"to": "{doctor}", "for": "{name}", "town": "{city}", "reason": "Carpal tunnel syndrome"}},
    {"message": "Hi {first}, your parcel with the inhaler was delivered to {street}, {city}. Questions? {phone}"},
    {"mother": "{relative}", "child": "{name}", "address": {"line1": "{street}", "town": "{city}", "code": "{zip}"}, "vaccine": "Measles"},
]
